// The cells of the map on screen: finds the cell at a point, of a token, or beside another cell. Arithmetic on one
// scene and one layout; independent of widgets.
#pragma once

#include <optional>

#include "ui/map/painter.h"

namespace palimpsest::ui {

class MapGrid {
public:
    // `scene` must outlive the grid and not change while the grid is used. `device_ratio`: device pixels per unit
    // of `layout`.
    MapGrid(const MapScene& scene, const MapLayout& layout, double device_ratio);

    const MapLayout& layout() const { return layout_; }
    const TokenColumns& columns() const { return columns_; }

    std::optional<MapCell> cell_at(const QPointF& at) const; // none outside the plot
    // The cell of `row` that has the token; none if the token is not visible.
    std::optional<MapCell> cell_of(const MapRow& row, uint64_t token) const;
    std::optional<MapCell> nearest_cell(const MapRow& row, uint64_t token) const; // none if there are no columns
    std::optional<MapCell> middle_cell() const; // of the top row; none if there are no cells
    // Returns a token of the cell that is `step` columns to the right; it may be beyond the end of the stream.
    // REQUIRES: there are columns.
    uint64_t token_beside(const MapCell& cell, int step) const;
    // Pixels to scroll down until the row is completely in the plot; negative: up.
    int distance_to_row(int index) const;

private:
    const MapScene& scene_;
    MapLayout layout_;
    double device_ratio_;
    TokenColumns columns_;
};

} // namespace palimpsest::ui
