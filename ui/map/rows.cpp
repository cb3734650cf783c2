#include "ui/map/rows.h"

#include <algorithm>
#include <utility>

namespace palimpsest::ui {

MapRows::MapRows(int32_t layers, int32_t kv_heads)
    : kv_heads_(kv_heads), expanded_(static_cast<size_t>(layers), false)
{
    arrange();
}

int MapRows::index_of(const MapRow& row) const
{
    if (row.layer < 0 || row.layer >= layers() || row.head >= kv_heads_) return -1;
    const MapRow shown = is_expanded(row.layer) ? row : MapRow{row.layer};
    return static_cast<int>(std::find(rows_.begin(), rows_.end(), shown) - rows_.begin());
}

int32_t MapRows::lists_of(const MapRow& row) const
{
    return row.is_layer() ? kv_heads_ : 1;
}

void MapRows::set_expanded(int32_t layer, bool expanded)
{
    expanded_[static_cast<size_t>(layer)] = expanded && is_expandable();
    arrange();
}

void MapRows::expand_all(bool expanded)
{
    expanded_.assign(expanded_.size(), expanded && is_expandable());
    arrange();
}

void MapRows::choose(std::vector<MapRow> rows)
{
    rows_ = std::move(rows);
}

void MapRows::arrange()
{
    rows_.clear();
    for (int32_t layer = layers() - 1; layer >= 0; --layer) {
        rows_.push_back({layer});
        if (!is_expanded(layer)) continue;
        for (int32_t head = kv_heads_ - 1; head >= 0; --head)
            rows_.push_back({layer, head});
    }
}

} // namespace palimpsest::ui
