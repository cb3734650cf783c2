#include "ui/map/grid.h"

#include <algorithm>
#include <cmath>

namespace palimpsest::ui {

MapGrid::MapGrid(const MapScene& scene, const MapLayout& layout, double device_ratio)
    : scene_(scene), layout_(layout), device_ratio_(device_ratio),
      columns_(RetentionPainter::columns(scene, layout, device_ratio))
{
}

std::optional<MapCell> MapGrid::cell_at(const QPointF& at) const
{
    const int row = layout_.row_at(at.y(), scene_.rows.count());
    const double left = std::floor((at.x() - layout_.plot.left()) * device_ratio_);
    if (!scene_.map || row < 0 || left < 0 || left >= columns_.count()) return std::nullopt;
    return MapCell{scene_.rows.at(row), columns_.tokens(static_cast<int>(left))};
}

std::optional<MapCell> MapGrid::cell_of(const MapRow& row, uint64_t token) const
{
    const uint64_t last = std::max<uint64_t>(1, scene_.window.length()) - 1;
    const int column = columns_.column_of(std::min(token, last));
    if (columns_.count() == 0 || column < 0 || column >= columns_.count()) return std::nullopt;
    return MapCell{row, columns_.tokens(column)};
}

std::optional<MapCell> MapGrid::nearest_cell(const MapRow& row, uint64_t token) const
{
    if (columns_.count() == 0) return std::nullopt;
    return MapCell{row, columns_.tokens(std::clamp(columns_.column_of(token), 0, columns_.count() - 1))};
}

std::optional<MapCell> MapGrid::middle_cell() const
{
    if (!scene_.map || scene_.rows.count() == 0 || columns_.count() == 0) return std::nullopt;
    return MapCell{scene_.rows.at(0), columns_.tokens(columns_.count() / 2)};
}

uint64_t MapGrid::token_beside(const MapCell& cell, int step) const
{
    const auto first = static_cast<double>(cell.tokens.first), last = static_cast<double>(cell.tokens.last);
    const double per_column = columns_.tokens_per_column();
    // Starts from the middle of the cell, so that a rounding error cannot end in the same cell.
    const double from = per_column > 1 ? (first + last) / 2 : first;
    return static_cast<uint64_t>(std::max(0.0, from + step * std::max(1.0, per_column)));
}

int MapGrid::distance_to_row(int index) const
{
    const QRectF row = layout_.row(index);
    const double above = std::max(0.0, layout_.plot.top() - row.top());
    const double below = std::max(0.0, row.bottom() - layout_.plot.bottom());
    return static_cast<int>(std::ceil(below)) - static_cast<int>(std::ceil(above));
}

} // namespace palimpsest::ui
