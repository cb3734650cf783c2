#include "app/reader/office_writer.h"

#include <utility>

namespace palimpsest::reader {

namespace {

// Returns the text without what word processors add when they open a web page: they turn the line end after <br>
// into a space at the beginning of the next line, and the line end before </pre> into an empty line.
std::string without_stray_space(std::string_view text)
{
    std::string out;
    for (size_t i = 0; i < text.size(); ++i) {
        const bool begins_line = i > 0 && text[i - 1] == '\n', is_one = i + 1 < text.size() && text[i + 1] != ' ';
        if (!(begins_line && text[i] == ' ' && is_one)) out += text[i];
    }
    out.resize(out.find_last_not_of('\n') + 1);
    return out;
}

} // namespace

std::string* OfficeWriter::open_cell()
{
    if (tables_.empty() || tables_.back().arranges_page || tables_.back().cells.empty()) return nullptr;
    return &tables_.back().cells.back();
}

void OfficeWriter::write(Paragraph paragraph)
{
    if (paragraph.text.find_first_not_of(" \t\n") == std::string::npos) return;
    paragraph.text = without_stray_space(paragraph.text);
    if (std::string* cell = open_cell()) {
        cell->append(cell->empty() ? "" : " ").append(paragraph.marker).append(on_one_line(paragraph.text));
        return;
    }
    if (paragraph.heading_level > 0)
        writer_.heading(paragraph.heading_level, paragraph.marker + paragraph.text);
    else if (paragraph.list_level > 0)
        write_item(paragraph);
    else if (paragraph.is_line)
        writer_.line(paragraph.text);
    else
        writer_.block(paragraph.text);
    write_notes();
}

void OfficeWriter::write_item(const Paragraph& paragraph)
{
    const std::string indent(static_cast<size_t>(paragraph.list_level - 1) * 2, ' ');
    const std::string rest = indent + std::string(paragraph.marker.empty() ? 2 : paragraph.marker.size(), ' ');
    if (paragraph.list_level == 1 && std::exchange(last_list_, paragraph.list) != paragraph.list) writer_.gap();
    writer_.line(with_indent(paragraph.text, paragraph.marker.empty() ? rest : indent + paragraph.marker, rest));
}

void OfficeWriter::begin_table(bool arranges_page)
{
    if (tables_.empty()) writer_.gap();
    tables_.push_back({.arranges_page = arranges_page && !open_cell()});
}

void OfficeWriter::begin_cell()
{
    if (!tables_.empty() && !tables_.back().arranges_page) tables_.back().cells.emplace_back();
}

void OfficeWriter::end_row()
{
    if (tables_.empty() || tables_.back().cells.empty()) return;
    std::string row;
    for (const std::string& cell : std::exchange(tables_.back().cells, {}))
        row.append(cell).append(" | ");
    row.resize(row.find_last_not_of(" |") + 1); // empty cells at the end
    if (row.empty()) return;
    Table inner = std::move(tables_.back()); // the row may belong to a cell of the table around this one
    tables_.pop_back();
    if (std::string* cell = open_cell())
        cell->append(cell->empty() ? "" : " ").append(row);
    else
        writer_.line(row);
    tables_.push_back(std::move(inner));
}

void OfficeWriter::end_table()
{
    end_row();
    if (!tables_.empty()) tables_.pop_back();
    if (!tables_.empty()) return;
    writer_.gap();
    write_notes();
}

std::string OfficeWriter::add_note(std::string text)
{
    notes_.push_back(std::move(text));
    return "[" + std::to_string(notes_before_ + notes_.size()) + "]";
}

void OfficeWriter::write_notes()
{
    if (!tables_.empty()) return;
    for (const std::string& note : std::exchange(notes_, {}))
        writer_.block("[" + std::to_string(++notes_before_) + "] " + note);
}

} // namespace palimpsest::reader
