// The retained-token map as JSON and CSV.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>

#include "engine/cache/retention_map.h"

namespace palimpsest::engine {

struct MapFilter {
    std::optional<int32_t> layer, head;
    bool shows(int32_t l, int32_t h) const { return (!layer || *layer == l) && (!head || *head == h); }
};

// The array "heads" of the JSON schema palimpsest.retention/1.
nlohmann::ordered_json heads_json(const RetentionMap& map, const MapFilter& filter);
// Writes the object `about` with "heads" appended, one list per line. Converts one list at a time, so that the
// whole array is never in memory as JSON.
void write_json(std::ostream& out, const nlohmann::ordered_json& about, const RetentionMap& map,
                const MapFilter& filter);
// Writes the header `layer,head,token`, then one line per kept token.
void write_csv(std::ostream& out, const RetentionMap& map, const MapFilter& filter);

} // namespace palimpsest::engine
