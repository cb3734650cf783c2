// Counts the kept tokens of each cell of the map.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/cache/retention_map.h"
#include "ui/map/rows.h"
#include "ui/map/visible_range.h"

namespace palimpsest::ui {

// Calls `take` for each list that the row shows.
template<typename Take>
void for_each_list(const engine::RetentionMap& map, const MapRow& row, const Take& take)
{
    const int32_t first = row.is_layer() ? 0 : row.head;
    const int32_t last = row.is_layer() ? map.kv_heads : row.head + 1;
    for (int32_t head = first; head < last; ++head)
        take(map.of(row.layer, head));
}

struct MapCells {
    int rows = 0, columns = 0;
    std::vector<uint32_t> kept;      // [rows, columns] kept (head, token) pairs
    std::vector<uint32_t> read;      // [columns] tokens of the column read so far; 0: none yet
    std::vector<uint32_t> row_lists; // [rows] number of KV heads in the row

    uint32_t kept_at(int row, int column) const
    {
        return kept[static_cast<size_t>(row) * static_cast<size_t>(columns) + static_cast<size_t>(column)];
    }
    // Pairs that a full cache would keep: KV heads of the row times tokens of the column read so far.
    uint64_t pairs_at(int row, int column) const
    {
        return uint64_t{row_lists[static_cast<size_t>(row)]} * read[static_cast<size_t>(column)];
    }
    double share_at(int row, int column) const; // 0 if nothing was read
};

// Exact for any column width. Cost: O(lists * min(kept in the window, columns * log(kept per column))); memory:
// O(rows * columns). REQUIRES: fewer than 2^32 kept tokens in a layer.
MapCells count_cells(const engine::RetentionMap& map, std::span<const MapRow> rows, const TokenColumns& columns);

} // namespace palimpsest::ui
