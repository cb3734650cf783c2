// Facts about one cell of the map: counts, and the first token that it keeps.
#pragma once

#include <QString>
#include <optional>

#include "ui/map/scene.h"

namespace palimpsest::ui {

struct MapCell {
    MapRow row;
    StreamRange tokens; // of the cell; not empty
    bool operator==(const MapCell&) const = default;
};

struct CellCount {
    uint64_t kept = 0, pairs = 0; // kept (head, token) pairs; pairs of a head and a token read so far
    double share() const { return pairs == 0 ? 0 : static_cast<double>(kept) / static_cast<double>(pairs); }
};
// O(heads of the row * log kept). REQUIRES: the row belongs to the map.
CellCount count_of(const engine::RetentionMap& map, const MapCell& place);

struct CellFacts {
    CellCount count;
    uint64_t token = 0;                 // first token of the cell that the row keeps, otherwise its first token
    std::optional<uint64_t> rank;       // of the token in the head's list, oldest first; none for a layer
    uint64_t list_length = 0;           // of that head's list
    int32_t held_in_layer = 0;          // heads of the row's layer that keep the token
    int32_t held_in_all = 0, lists = 0; // heads of all layers that keep it; number of lists
};
// O(lists * log kept). REQUIRES: the row belongs to the map.
CellFacts facts_of(const engine::RetentionMap& map, const MapCell& place);

QString row_name(const MapRow& row);                                                // "Layer 7, head 2"
QString cell_sentence(const MapCell& place, const CellFacts& facts, uint64_t seen); // describes the cell
QString token_sentence(const MapCell& place, const CellFacts& facts);               // which heads keep its token
QString percentage(double share); // with enough digits that only a share of 0 is shown as 0 %, and only 1 as 100 %

} // namespace palimpsest::ui
