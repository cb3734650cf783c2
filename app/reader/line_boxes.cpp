#include "app/reader/line_boxes.h"

#include <algorithm>
#include <utility>

namespace palimpsest::reader {
namespace {

bool is_beside(const PdfBox& row, const PdfBox& last, const PdfBox& piece)
{
    const double overlap = std::min(row.bottom, piece.bottom) - std::max(row.top, piece.top);
    return overlap > 0.3 * std::min(row.height(), piece.height()) && piece.left > last.left;
}

std::vector<LineBox> rows_of(const std::vector<PdfBox>& pieces)
{
    std::vector<LineBox> rows;
    std::vector<PdfBox> row;
    PdfBox around;
    for (const PdfBox& piece : pieces) {
        if (!row.empty() && !is_beside(around, row.back(), piece)) rows.push_back(line_box(std::exchange(row, {})));
        if (row.empty()) around = piece;
        around.include(piece);
        row.push_back(piece);
    }
    if (!row.empty()) rows.push_back(line_box(std::move(row)));
    return rows;
}

} // namespace

LineBox line_box(std::vector<PdfBox> pieces)
{
    std::ranges::sort(pieces, {}, &PdfBox::left);
    LineBox line{.box = pieces.front(), .gaps = {}};
    for (const PdfBox& piece : pieces)
        line.box.top = std::min(line.box.top, piece.top), line.box.bottom = std::max(line.box.bottom, piece.bottom);
    for (const PdfBox& piece : pieces) {
        if (piece.left - line.box.right > line.box.height()) line.gaps.push_back({line.box.right, piece.left});
        line.box.include(piece);
    }
    return line;
}

std::vector<LineBox> line_boxes(const std::vector<PdfBox>& pieces, const std::vector<std::string>& lines)
{
    std::vector<LineBox> rows = rows_of(pieces);
    if (rows.size() != lines.size() || rows.empty()) return {};
    std::vector<double> widths;
    for (size_t i = 0; i < lines.size(); ++i)
        widths.push_back(rows[i].box.width() / std::max(1.0, width_in_letters(lines[i])));
    constexpr double widest = 2; // beside the usual letter, as in a title
    const double usual = median(widths, 0);
    const auto is_likely = [&](double width) { return width < widest * usual && width > usual / widest; };
    return std::ranges::all_of(widths, is_likely) ? rows : std::vector<LineBox>();
}

} // namespace palimpsest::reader
