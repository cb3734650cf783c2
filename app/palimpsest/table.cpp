#include "app/palimpsest/table.h"

#include <algorithm>

#include "engine/text/unicode/display_width.h"
#include "engine/text/unicode/visible_text.h"

namespace palimpsest::app {

void Table::add(const std::vector<std::string>& cells)
{
    std::vector<std::string>& row = rows_.emplace_back();
    for (const std::string& cell : cells)
        row.push_back(engine::visible_line(cell));
}

// Isolates only where they are seen: a script would take them for a part of a name.
void Table::write_columns(Console& console) const
{
    std::vector<size_t> widths;
    for (const auto& row : rows_) {
        widths.resize(std::max(widths.size(), row.size()));
        for (size_t i = 0; i < row.size(); ++i)
            widths[i] = std::max(widths[i], engine::display_width(row[i]));
    }
    for (const auto& row : rows_) {
        for (size_t i = 0; i < row.size(); ++i) {
            const std::string cell = console.out_is_terminal ? engine::isolated(row[i]) : row[i];
            console.out << (i + 1 == row.size() ? cell : engine::padded(cell, widths[i] + 2));
        }
        console.out << '\n';
    }
}

void Table::write_rows(Console& console) const
{
    if (console.out_is_terminal) return write_columns(console);
    for (const auto& row : rows_)
        for (size_t i = 0; i < row.size(); ++i)
            console.out << row[i] << (i + 1 == row.size() ? '\n' : '\t');
}

} // namespace palimpsest::app
