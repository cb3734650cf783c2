// A list of rows for people and for scripts that read it line by line.
#pragma once

#include <string>
#include <vector>

#include "app/palimpsest/console.h"

namespace palimpsest::app {

class Table {
public:
    // Cells may be any text: they are written on one line, with what hides or turns text escaped.
    void add(const std::vector<std::string>& cells);

    // With cells in columns, two spaces apart.
    void write_columns(Console& console) const;
    // Likewise on a terminal; elsewhere with a tab between cells.
    void write_rows(Console& console) const;

private:
    std::vector<std::vector<std::string>> rows_;
};

} // namespace palimpsest::app
