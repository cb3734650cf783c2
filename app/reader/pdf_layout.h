// The text of a PDF from its lines: paragraphs, headings, and pages without their running heads and feet.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "app/reader/text_writer.h"

namespace palimpsest::reader {

struct PdfLine {
    std::string text;        // UTF-8
    bool is_divided = false; // its last word continues in the next line; `text` lacks the hyphen
    // In points, from the page's top left corner. 0 if they are not known.
    double left = 0, top = 0, right = 0, bottom = 0;

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

// The first and last lines of pages that say the same on pages near to one another, but for numbers.
class RunningHeads {
public:
    void count(const std::vector<std::string>& lines); // of every page, in order
    void remove(PdfPage& page) const;

private:
    bool is_running(const std::string& line, int page) const;

    std::unordered_map<std::string, std::vector<int>> pages_; // on which a form of line is
    int counted_ = 0;                                         // pages
};

// Writes pages as blocks. A paragraph may go on in the next column or on the next page. Columns are taken in the
// order of the file.
class PdfLayout {
public:
    // Without an outline, lines in larger letters are headings.
    PdfLayout(bool has_outline, TextWriter& writer) : has_outline_(has_outline), writer_(writer) {}

    void write(const PdfPage& page); // without running heads
    void finish();                   // after the last page

private:
    struct Column {
        double left = 0, right = 0;
    };

    void measure(const PdfPage& page);
    void measure_column(size_t column, const PdfPage& page);
    size_t column_of(const PdfLine& line) const;
    bool is_short(const PdfLine& line) const;
    void add(const PdfLine& line, const SectionMark* section);
    bool goes_on_beside(const PdfLine& line) const;
    bool begins_block(const PdfLine& line) const;
    bool begins_after_heading(const PdfLine& line) const;
    int guessed_level(const PdfLine& line) const;
    void begin_block(const PdfLine& line, const SectionMark* section);
    void join(const PdfLine& line);
    void end_block();
    void write_waiting_sections();
    void begin_pages_in_block();

    bool has_outline_;
    TextWriter& writer_;
    double middle_ = 0;                  // of a page of two columns; 0: it has one
    Column columns_[3];                  // all of the page, its left and its right column
    double leading_ = 0, height_ = 0;    // usual distance of two lines, and their height
    size_t usual_bytes_ = 0;             // of a line
    std::string text_;                   // of the block that is open
    std::vector<PageMark> pages_;        // that begin in it
    std::vector<std::string> new_pages_; // labels of pages of which nothing was written yet
    PdfLine last_;                       // line of the block
    size_t last_column_ = 0;
    bool last_is_short_ = false;
    int level_ = 0;                    // of the heading that is open; 0: none
    std::string title_;                // of the outline, that it belongs to
    std::vector<SectionMark> waiting_; // sections without a heading, for the next block
};

} // namespace palimpsest::reader
