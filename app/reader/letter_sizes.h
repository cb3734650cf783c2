// The sizes of the letters in a PDF, by which headings are told from text where there is no outline.
#pragma once

#include <vector>

#include "app/reader/pdf_page.h"

namespace palimpsest::reader {

class LetterSizes {
public:
    // Counts the letters of a page, whose running heads are removed. Sizes that occur only on pages that were not
    // counted are not taken for headings.
    void count(const PdfPage& page);
    void decide(); // after the last page that counts

    // In points, of letters such as "Ag"; 0 if the line is not measured. Most PDFs tell the box of what is printed,
    // which is lower for a line without such letters.
    double of(const PdfLine& line) const;
    bool is_larger(const PdfLine& line) const; // than the text
    // 1 for the largest letters of the document; 0 for those of the text, smaller ones, and what cannot be a title.
    int heading_level(const PdfLine& line) const;

private:
    struct Line {
        double height = 0, part = 1; // of the height of "Ag"
        size_t bytes = 0;
        bool may_be_title = false;
    };

    double size_of(const Line& line) const { return are_boxes_tight_ ? line.height / line.part : line.height; }

    std::vector<Line> lines_; // empty once it is decided
    bool are_boxes_tight_ = false;
    double text_size_ = 0;
    std::vector<double> heading_sizes_; // the largest first
};

} // namespace palimpsest::reader
