#include "engine/cache/retention_export.h"

namespace palimpsest::engine {

nlohmann::ordered_json heads_json(const RetentionMap& map, const MapFilter& filter)
{
    nlohmann::ordered_json heads = nlohmann::ordered_json::array();
    for (int32_t l = 0; l < map.layers; ++l)
        for (int32_t h = 0; h < map.kv_heads; ++h)
            if (filter.shows(l, h)) heads.push_back({{"layer", l}, {"head", h}, {"tokens", map.of(l, h)}});
    return heads;
}

void write_csv(std::ostream& out, const RetentionMap& map, const MapFilter& filter)
{
    out << "layer,head,token\n";
    for (int32_t l = 0; l < map.layers; ++l)
        for (int32_t h = 0; h < map.kv_heads; ++h)
            if (filter.shows(l, h))
                for (const uint32_t token : map.of(l, h))
                    out << l << ',' << h << ',' << token << '\n';
}

} // namespace palimpsest::engine
