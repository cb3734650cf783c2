#include "ui/compare/compare_export.h"

#include "engine/cache/retention_export.h"
#include "storage/session/list_lengths.h"
#include "ui/map/lists.h"

namespace palimpsest::ui {
namespace {

using nlohmann::ordered_json;

ordered_json policy_of(const CompareResult& result)
{
    ordered_json policy = policy_json(result.options);
    policy["budget"] = result.budget;
    policy["kept_per_layer"] = storage::ListLengths::of(*result.kept).layers;
    return policy;
}

ordered_json steps_json(const CompareResult& result)
{
    ordered_json steps = ordered_json::array();
    for (const auto& [tokens, step] : result.steps.entries()) {
        ordered_json one{{"tokens", tokens},
                         {"perplexity", step.perplexity},
                         {"overlap_with_first", nullptr},
                         {"tokens_per_second", step.tokens_per_second},
                         {"cache_bytes", step.cache_bytes}};
        if (step.overlap) one["overlap_with_first"] = *step.overlap;
        steps.push_back(std::move(one));
    }
    return steps;
}

ordered_json result_json(const CompareResult& result)
{
    return {{"policy", policy_of(result)},
            {"tokens_seen", result.tokens_read},
            {"complete", result.complete},
            {"perplexity", result.loss.perplexity()},
            {"mean_loss", result.loss.mean()},
            {"tokens_per_second", result.tokens_per_second},
            {"memory",
             {{"cache_bytes", result.telemetry.cache_bytes},
              {"scratch_bytes", result.telemetry.scratch_bytes},
              {"full_cache_bytes", result.telemetry.full_cache_bytes}}},
            {"reach", reach_json(result.reach)},
            {"heads", engine::heads_json(*result.kept, {})},
            {"steps", steps_json(result)}};
}

const char* name_of(CompareState::Phase phase)
{
    switch (phase) {
    case CompareState::Phase::Running:
        return "running";
    case CompareState::Phase::Finished:
        return "finished";
    case CompareState::Phase::Stopped:
        return "stopped";
    }
    return "";
}

} // namespace

ordered_json comparison_json(const CompareState& state)
{
    ordered_json results = ordered_json::array(), overlaps = ordered_json::array();
    for (const CompareResult& result : state.results)
        results.push_back(result_json(result));
    for (size_t a = 0; a < state.overlaps.size(); ++a)
        for (size_t b = a + 1; b < state.overlaps.size(); ++b)
            overlaps.push_back({{"a", a}, {"b", b}, {"overlap", state.overlaps[a][b]}});
    return {{"schema", "palimpsest.comparison/1"},
            {"model", {{"name", state.model_name}, {"fingerprint", state.model_fingerprint}}},
            {"text", state.what},
            {"tokens", state.tokens_total},
            {"state", name_of(state.phase)},
            {"results", results},
            {"overlaps", overlaps}};
}

FileContent comparison_file(std::shared_ptr<const CompareState> state)
{
    return [state = std::move(state)](std::ostream& out) {
        out << comparison_json(*state).dump(2, ' ', false, ordered_json::error_handler_t::replace) << '\n';
    };
}

} // namespace palimpsest::ui
