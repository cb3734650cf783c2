// Writes what a parser finds in a document as messages: blocks of text, and where headings and pages are.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/reader/frame.h"

namespace palimpsest::reader {

// The document cannot be read: ends the parsing, and is told the user.
struct Problem {
    storage::DocumentProblem problem = storage::DocumentProblem::Damaged;
    Text what, remedy;
};

struct SectionMark {
    int level = 1;
    std::string title;
};

struct PageMark {
    size_t offset = 0; // in the text of a block, before it is cleaned
    std::string label;
};

// Text may hold anything: invalid UTF-8 becomes U+FFFD; soft hyphens, and control characters other than tabs and
// line ends, are left out. Blocks are separated by a blank line.
class TextWriter {
public:
    using Sink = std::function<void(const storage::ReaderFrame&)>;

    explicit TextWriter(Sink sink) : sink_(std::move(sink)) {}

    void begin(const std::string& format);                         // before everything else; later calls do nothing
    void fact(storage::DocumentFact fact, std::string_view value); // before all text; empty values are left out

    void heading(int level, std::string_view title); // a block of its own, at which a section begins
    void section(int level, std::string_view title); // a section begins with the next block
    void page(std::string_view label); // with the next block; without text if another page or the end follows
    void block(std::string_view text, const std::vector<PageMark>& pages = {}); // a paragraph; pages begin in it
    void line(std::string_view text);   // as block, but on the line after the last one: of a list, table or verse
    void raw(std::string_view text);    // clean text as it is, for documents that are text already
    void gap() { after_line_ = false; } // the next line() begins a new block

    void note(Text text);
    void progress(uint64_t done, uint64_t all);
    void finish();                       // at the end of the document, or
    void refuse(const Problem& problem); // instead

    uint64_t text_bytes() const { return bytes_ + pending_.size(); }

private:
    void separate(std::string_view separator);
    void mark_page(std::string_view label);
    void write_waiting_pages();
    void append(std::string_view text);
    void flush();

    Sink sink_;
    std::string pending_;                    // not written yet
    std::vector<std::string> waiting_pages_; // labels of pages that begin with the next text
    uint64_t bytes_ = 0;                     // written
    bool has_begun_ = false;
    bool is_separated_ = true; // from the text before
    bool after_line_ = false;  // the last text was a line()
};

// As TextWriter cleans text.
std::string clean_text(std::string_view text);
// On one line: white space, line ends included, becomes one space, and none at the ends. A no-break space stays.
std::string on_one_line(std::string_view text);
// `first` before the first line, `rest` before the others.
std::string with_indent(std::string_view text, std::string_view first, std::string_view rest);

} // namespace palimpsest::reader
