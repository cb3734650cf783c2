#include "ui/map/lists.h"

#include "engine/cache/retention_export.h"
#include "storage/session/list_lengths.h"
#include "storage/session/session_settings.h"

namespace palimpsest::ui {
namespace {

using nlohmann::ordered_json;

ordered_json about(const SessionFacts& facts, const engine::RetentionMap& map)
{
    return {
        {"schema", "palimpsest.retention/1"},
        {"session", facts.name.toStdString()},
        {"model", {{"name", facts.model_name.toStdString()}, {"layers", map.layers}, {"kv_heads", map.kv_heads}}},
        {"policy", policy_json(facts.options)},
        {"tokens_seen", map.tokens_seen},
        {"reach", reach_json(engine::reach(map))}};
}

} // namespace

MapWriters writers_of(std::shared_ptr<const SessionFacts> facts)
{
    if (!facts) return {};
    return {.csv = [](std::ostream& out, const engine::RetentionMap& map) { engine::write_csv(out, map, {}); },
            .json =
                [facts = std::move(facts)](std::ostream& out, const engine::RetentionMap& map) {
                    engine::write_json(out, about(*facts, map), map, {});
                }};
}

ordered_json policy_json(const engine::SessionOptions& options)
{
    ordered_json parameters = ordered_json::object();
    for (const auto& [key, value] : options.policy.parameters)
        parameters[key] = value;
    ordered_json policy{{"name", options.policy.name},
                        {"budget", options.budget},
                        {"chunk", options.chunk},
                        {"positions", storage::name_of(options.positions)},
                        {"parameters", parameters}};
    if (options.budget == engine::no_budget) policy["budget"] = storage::budget_text(options.budget);
    return policy;
}

ordered_json reach_json(const engine::Reach& reach)
{
    return {{"median_age_tokens", reach.median_age}, {"kept_by_tenth_of_the_input", reach.by_tenth}};
}

} // namespace palimpsest::ui
