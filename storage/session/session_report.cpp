#include "storage/session/session_report.h"

#include "engine/session/session_remarks.h"
#include "storage/session/model_choice.h"
#include "storage/session/session_settings.h"

namespace palimpsest::storage {

using nlohmann::ordered_json;

ModelReport ModelReport::of(const engine::Model& model)
{
    return {.name = model_title(model.files()),
            .file = display_name(model),
            .fingerprint = model.fingerprint(),
            .layers = model.config().layers,
            .kv_heads = model.config().kv_heads};
}

ordered_json ModelReport::json() const
{
    return {
        {"name", name}, {"file", file}, {"fingerprint", fingerprint}, {"layers", layers}, {"kv_heads", kv_heads}};
}

PolicyReport PolicyReport::of(const engine::Session& session)
{
    const engine::SessionOptions& options = session.options();
    return {.spec = options.policy,
            .budget = budget_of(session),
            .chunk = options.chunk,
            .positions = options.positions,
            .lengths = LengthsReport::of(session),
            .remarks = engine::session_remarks(session)};
}

ordered_json PolicyReport::json(const engine::RetentionMap& map) const
{
    ordered_json parameters = ordered_json::object();
    for (const auto& [key, value] : spec.parameters)
        parameters[key] = value;
    ordered_json policy = {{"name", spec.name},        {"budget", budget},
                           {"chunk", chunk},           {"positions", name_of(positions)},
                           {"parameters", parameters}, {"budgets", lengths.json(map)}};
    for (const Text& remark : remarks)
        policy["remarks"].push_back(remark.english());
    return policy;
}

ordered_json model_json(const engine::Model& model)
{
    return ModelReport::of(model).json();
}

ordered_json policy_json(const engine::Session& session)
{
    return PolicyReport::of(session).json(session.retention());
}

ordered_json memory_json(const engine::Telemetry& telemetry)
{
    return {{"cache_bytes", telemetry.cache_bytes},
            {"scratch_bytes", telemetry.scratch_bytes},
            {"full_cache_bytes", telemetry.full_cache_bytes}};
}

ordered_json reach_json(const engine::RetentionMap& map)
{
    const engine::Reach reach = engine::reach(map);
    return {{"median_age_tokens", reach.median_age}, {"kept_by_tenth_of_the_input", reach.by_tenth}};
}

} // namespace palimpsest::storage
