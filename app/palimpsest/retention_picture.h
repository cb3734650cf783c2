// The retained-token map as text: the Unicode picture of a terminal, and the JSON and CSV of cli.md.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <string>

#include "engine/cache/retention_map.h"

namespace palimpsest::app {

struct MapFilter {
    std::optional<int32_t> layer, head;
    bool shows(int32_t l, int32_t h) const { return (!layer || *layer == l) && (!head || *head == h); }
};

// One row per layer, highest first (one per head where the filter names a layer), `columns` cells; a cell's block
// is as high as the share of its tokens that is kept, on average over the row's heads.
std::string unicode_picture(const engine::RetentionMap& map, const MapFilter& filter, int32_t columns);

// "heads" of palimpsest.retention/1.
nlohmann::ordered_json heads_json(const engine::RetentionMap& map, const MapFilter& filter);
// Header `layer,head,token`, one row per kept token.
void write_csv(std::ostream& out, const engine::RetentionMap& map, const MapFilter& filter);

} // namespace palimpsest::app
