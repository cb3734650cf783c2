// What the map knows about one of its cells: counts, and the token of it that is held.
#pragma once

#include <QString>
#include <optional>

#include "ui/map/scene.h"

namespace palimpsest::ui {

struct MapPlace {
    MapRow row;
    StreamRange tokens; // of the cell; not empty
    bool operator==(const MapPlace&) const = default;
};

struct PlaceCount {
    uint64_t kept = 0, pairs = 0; // (head, token) pairs of the tokens that were read
    double share() const { return pairs == 0 ? 0 : static_cast<double>(kept) / static_cast<double>(pairs); }
};
// O(heads of the row * log kept). REQUIRES: the row is the map's.
PlaceCount count_of(const engine::RetentionMap& map, const MapPlace& place);

struct PlaceFacts {
    PlaceCount count;
    uint64_t token = 0;                 // the cell's first that the row holds, else its first
    std::optional<uint64_t> rank;       // of it in the list of the row's head, oldest first; none for a layer
    uint64_t list_length = 0;           // of that list
    int32_t held_in_layer = 0;          // heads of the row's layer that hold it
    int32_t held_in_all = 0, lists = 0; // of all layers
};
// O(lists * log kept). REQUIRES: as count_of.
PlaceFacts facts_of(const engine::RetentionMap& map, const MapPlace& place);

QString row_name(const MapRow& row);                                                   // "Layer 7, head 2"
QString place_sentence(const MapPlace& place, const PlaceFacts& facts, uint64_t seen); // the cell, on one line
QString token_sentence(const MapPlace& place, const PlaceFacts& facts);                // who holds its token
QString percentage(double share); // as many digits as it takes not to say 0 of something, or 100 of less than all

} // namespace palimpsest::ui
