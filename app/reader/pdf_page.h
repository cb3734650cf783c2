// A page of a PDF as its lines of text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/reader/text_writer.h"

namespace palimpsest::reader {

// In points, from the page's top left corner.
struct PdfBox {
    double left = 0, top = 0, right = 0, bottom = 0;

    double width() const { return right - left; }
    double height() const { return bottom - top; }
    void include(const PdfBox& other);
};

// Wide space within a line, as between the cells of a table.
struct PdfGap {
    double left = 0, right = 0; // points
};

struct PdfLine {
    std::string text;        // UTF-8
    bool is_divided = false; // its last word continues in the next line; `text` lacks the hyphen
    // As in PdfBox. 0 if they are not known.
    double left = 0, top = 0, right = 0, bottom = 0;
    std::vector<PdfGap> gaps = {}; // from left to right

    double height() const { return bottom - top; }
    double middle() const { return (left + right) / 2; }
    bool is_measured() const { return right > left && bottom > top; }
};

struct PdfPage {
    int number = 0;                    // from 0
    std::string label;                 // as printed: "xii", "217"
    double width = 0, height = 0;      // points
    std::vector<PdfLine> lines;        // in the order of the file
    std::vector<SectionMark> sections; // of the document's outline that begin here
};

bool is_letter_or_digit(char c);
bool ends_sentence(std::string_view text);
// Estimates the width of a text in a proportional font. The unit is the width of the letter "n".
double width_in_letters(std::string_view text);
// Returns the median of the values above 0, or `otherwise` if no value is.
double median(std::vector<double> values, double otherwise);

} // namespace palimpsest::reader
