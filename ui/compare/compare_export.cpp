#include "ui/compare/compare_export.h"

#include "storage/session/comparison_report.h"

namespace palimpsest::ui {
namespace {

using nlohmann::ordered_json;

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
    storage::ComparisonReport report{.model = state.model, .coverage = state.coverage};
    for (const CompareResult& result : state.results)
        report.contenders.push_back({.policy = result.policy,
                                     .protocol = storage::Protocol::Blind,
                                     .complete = result.complete,
                                     .loss = result.loss,
                                     .tokens_per_second = result.tokens_per_second,
                                     .telemetry = result.telemetry,
                                     .map = result.kept.get()});
    if (!state.overlaps.empty()) report.overlap = [&](size_t a, size_t b) { return state.overlaps[a][b]; };
    ordered_json document = report.json();
    for (size_t i = 0; i < state.results.size(); ++i)
        document["results"][i]["steps"] = steps_json(state.results[i]);
    document["text"] = state.what;
    document["tokens"] = state.tokens_total;
    document["state"] = name_of(state.phase);
    return document;
}

FileContent comparison_file(std::shared_ptr<const CompareState> state)
{
    return [state = std::move(state)](std::ostream& out) {
        out << comparison_json(*state).dump(2, ' ', false, ordered_json::error_handler_t::replace) << '\n';
    };
}

} // namespace palimpsest::ui
