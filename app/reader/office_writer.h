// The text of a word processor's document, whatever its format: paragraphs, headings, list items, tables and notes.
#pragma once

#include <string>
#include <vector>

#include "app/reader/text_writer.h"

namespace palimpsest::reader {

struct Paragraph {
    std::string text{};
    int heading_level = 0; // 0: no heading
    int list_level = 0;    // 0: in no list
    std::string marker{};  // of the item that begins here: "- ", "2. "
    std::string list{};    // which list it is in, where the format tells only that
    bool is_line = false;  // of preformatted text, as are those before and after it
};

// Rows are written on lines of their own, and cells are separated by " | ". A table in a table is part of its cell.
// Notes follow the paragraph or the table that refers to them.
class OfficeWriter {
public:
    explicit OfficeWriter(TextWriter& writer) : writer_(writer) {}

    void write(Paragraph paragraph);
    void end_list() { writer_.gap(); }
    void begin_table(bool arranges_page); // its cells hold parts of the page, such as a frame around a paragraph
    void begin_cell();
    void end_row();
    void end_table();

    // The mark that stands for a note in the text, and the note.
    std::string add_note(std::string text);

private:
    struct Table {
        bool arranges_page = false;
        std::vector<std::string> cells{}; // of the row that is open
    };

    std::string* open_cell(); // null if a paragraph is part of none
    void write_notes();
    void write_item(const Paragraph& paragraph);

    TextWriter& writer_;
    std::vector<Table> tables_;      // that are open
    std::vector<std::string> notes_; // not written yet
    size_t notes_before_ = 0;
    std::string last_list_; // that an item on the first level was in
};

} // namespace palimpsest::reader
