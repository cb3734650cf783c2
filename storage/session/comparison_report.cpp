#include "storage/session/comparison_report.h"

#include "engine/cache/retention_export.h"

namespace palimpsest::storage {

using nlohmann::ordered_json;

ordered_json ContenderReport::json() const
{
    ordered_json result = {{"policy", policy.json(*map)},     {"protocol", name_of(protocol)},
                           {"tokens_seen", map->tokens_seen}, {"complete", complete},
                           {"perplexity", nullptr},           {"mean_loss", nullptr},
                           {"tokens_per_second", nullptr},    {"memory", memory_json(telemetry)},
                           {"reach", reach_json(*map)},       {"heads", engine::heads_json(*map, {})}};
    if (loss) {
        result["perplexity"] = loss->perplexity();
        result["mean_loss"] = loss->mean();
    }
    if (tokens_per_second) result["tokens_per_second"] = *tokens_per_second;
    return result;
}

ordered_json ComparisonReport::json() const
{
    ordered_json results = ordered_json::array(), overlaps = ordered_json::array();
    for (size_t a = 0; a < contenders.size(); ++a) {
        results.push_back(contenders[a].json());
        for (size_t b = a + 1; overlap && b < contenders.size(); ++b)
            overlaps.push_back({{"a", a}, {"b", b}, {"overlap", overlap(a, b)}});
    }
    return {{"schema", "palimpsest.comparison/1"},
            {"model", model.json()},
            {"coverage", coverage.json()},
            {"results", results},
            {"overlaps", overlaps}};
}

} // namespace palimpsest::storage
