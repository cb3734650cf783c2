#include "engine/cache/retention_export.h"

#include <utility>

namespace palimpsest::engine {

namespace {

template<class Take>
void for_each_head(const RetentionMap& map, const MapFilter& filter, const Take& take)
{
    for (int32_t l = 0; l < map.layers; ++l)
        for (int32_t h = 0; h < map.kv_heads; ++h)
            if (filter.shows(l, h)) take(l, h, map.of(l, h));
}

nlohmann::ordered_json head_json(int32_t layer, int32_t head, const std::vector<uint32_t>& tokens)
{
    return {{"layer", layer}, {"head", head}, {"tokens", tokens}};
}

} // namespace

nlohmann::ordered_json heads_json(const RetentionMap& map, const MapFilter& filter)
{
    nlohmann::ordered_json heads = nlohmann::ordered_json::array();
    for_each_head(map, filter, [&](int32_t layer, int32_t head, const std::vector<uint32_t>& tokens) {
        heads.push_back(head_json(layer, head, tokens));
    });
    return heads;
}

void write_json(std::ostream& out, const nlohmann::ordered_json& about, const RetentionMap& map,
                const MapFilter& filter)
{
    out << '{';
    for (const auto& [key, value] : about.items())
        out << nlohmann::ordered_json(key).dump() << ": "
            << value.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << ",\n ";
    out << "\"heads\": [";
    const char* before = "\n  ";
    for_each_head(map, filter, [&](int32_t layer, int32_t head, const std::vector<uint32_t>& tokens) {
        out << std::exchange(before, ",\n  ") << head_json(layer, head, tokens).dump();
    });
    out << "]}\n";
}

void write_csv(std::ostream& out, const RetentionMap& map, const MapFilter& filter)
{
    out << "layer,head,token\n";
    for_each_head(map, filter, [&](int32_t layer, int32_t head, const std::vector<uint32_t>& tokens) {
        for (const uint32_t token : tokens)
            out << layer << ',' << head << ',' << token << '\n';
    });
}

} // namespace palimpsest::engine
