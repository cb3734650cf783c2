// Where each of several lines of a page is, told from the boxes of their text.
#pragma once

#include <string>
#include <vector>

#include "app/reader/pdf_page.h"

namespace palimpsest::reader {

struct LineBox {
    PdfBox box;
    std::vector<PdfGap> gaps; // from left to right
};

// `pieces`: boxes of parts of the line, in any order; at least one.
LineBox line_box(std::vector<PdfBox> pieces);

// For each line the box around its part of `pieces`, if it is clear which pieces belong to which line; otherwise
// empty. `pieces`: boxes of parts of the lines in the order of the text, each within one line. `lines`: what they
// say. It is clear if the pieces form as many rows as there are lines, and the letters of all lines are then about
// as wide.
std::vector<LineBox> line_boxes(const std::vector<PdfBox>& pieces, const std::vector<std::string>& lines);

} // namespace palimpsest::reader
