// The text of a PDF from its lines: paragraphs, headings, and pages without their running heads and feet.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "app/reader/letter_sizes.h"
#include "app/reader/pdf_page.h"
#include "app/reader/text_writer.h"

namespace palimpsest::reader {

// The first and last lines of pages that say the same on pages near to one another, but for numbers, and the number
// of the page at its end.
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
    // Without an outline, lines in larger letters are headings. `sizes` must outlive this, and be decided before
    // the first page is written.
    PdfLayout(bool has_outline, const LetterSizes& sizes, TextWriter& writer)
        : has_outline_(has_outline), sizes_(sizes), writer_(writer)
    {
    }

    void write(const PdfPage& page); // without running heads
    void finish();                   // after the last page

private:
    struct Column {
        double left = 0, right = 0;
        size_t lines = 0;
        bool is_justified = false;
    };
    // How a line stands to those around it.
    struct Place {
        double left = 0;           // of its column
        double edge = 0;           // where the text around it ends on the right
        bool is_justified = false; // most lines end there
        bool is_apart = false;     // farther below the last line than it is usual there
    };

    void measure(const PdfPage& page);
    void measure_column(size_t column, const PdfPage& page);
    size_t column_of(const PdfLine& line) const;
    bool is_short(const PdfLine& line) const;
    std::vector<Place> places_of(const std::vector<PdfLine>& lines) const;
    bool follow(const PdfLine& before, const PdfLine& line) const;
    void set_edge(const std::vector<PdfLine>& lines, size_t begin, size_t end, std::vector<Place>& places) const;
    void add(const PdfLine& line, const Place& place, const SectionMark* section);
    void add_beside(const PdfLine& line);
    bool goes_on_beside(const PdfLine& line) const;
    bool is_elsewhere(const PdfLine& line) const;
    bool last_ends_early(const PdfLine& line) const;
    bool last_ends_paragraph(const PdfLine& line) const;
    double indent_of(const PdfLine& line) const;
    bool begins_block(const PdfLine& line, const Place& place) const;
    bool begins_elsewhere(const PdfLine& line) const;
    bool begins_lettered_item(const PdfLine& line) const;
    bool begins_after_heading(const PdfLine& line) const;
    int guessed_level(const PdfLine& line) const;
    void begin_block(const PdfLine& line, const SectionMark* section);
    void join(const PdfLine& line);
    void end_block();
    void write_waiting_sections();
    void begin_pages_in_block();

    bool has_outline_;
    const LetterSizes& sizes_;
    TextWriter& writer_;
    double middle_ = 0;                       // of a page of two columns; 0: it has one
    Column columns_[3];                       // all of the page, its left and its right column
    double leading_ = 0, height_ = 0;         // usual distance of two lines, and their height
    double letters_ = 0;                      // their usual size; 0: not known
    size_t usual_bytes_ = 0;                  // of a line
    std::string text_;                        // of the block that is open
    std::vector<PageMark> pages_;             // that begin in it
    std::vector<std::string> new_pages_;      // labels of pages of which nothing was written yet
    PdfLine last_;                            // line of the block
    size_t last_column_ = 0, last_lines_ = 0; // lines of that column
    Place last_place_;
    double last_indent_ = 0;
    bool last_begins_block_ = false;
    bool last_is_short_ = false;
    bool is_item_ = false;             // the block is an item of a list
    int level_ = 0;                    // of the heading that is open; 0: none
    std::string title_;                // of the outline, that it belongs to
    std::vector<SectionMark> waiting_; // sections without a heading, for the next block
};

} // namespace palimpsest::reader
