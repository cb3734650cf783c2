// Rows of the retained-token map: one per layer, the highest layer at the top. Below an expanded layer, there is
// one row per KV head.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace palimpsest::ui {

struct MapRow {
    int32_t layer = 0;
    int32_t head = -1; // -1: all heads of the layer

    bool is_layer() const { return head < 0; }
    bool operator==(const MapRow&) const = default;
};

class MapRows {
public:
    MapRows() = default; // no rows
    MapRows(int32_t layers, int32_t kv_heads);

    int32_t layers() const { return static_cast<int32_t>(expanded_.size()); }
    int32_t kv_heads() const { return kv_heads_; }
    int count() const { return static_cast<int>(rows_.size()); }
    const MapRow& at(int index) const { return rows_[static_cast<size_t>(index)]; } // index 0 is the top row
    const std::vector<MapRow>& all() const { return rows_; }
    int index_of(const MapRow& row) const;     // the layer's row if the head is not shown; -1: no such row
    int32_t lists_of(const MapRow& row) const; // number of KV heads in the row
    bool is_expanded(int32_t layer) const { return expanded_[static_cast<size_t>(layer)]; }
    bool is_expandable() const { return kv_heads_ > 1; }

    void set_expanded(int32_t layer, bool expanded);
    void expand_all(bool expanded);
    void choose(std::vector<MapRow> rows); // shows only these rows, until set_expanded() or expand_all() is called

private:
    void arrange();

    int32_t kv_heads_ = 0;
    std::vector<bool> expanded_; // [layers]
    std::vector<MapRow> rows_;
};

} // namespace palimpsest::ui
