#include "ui/compare/compare_export.h"

#include <QSaveFile>

#include "engine/cache/retention_export.h"
#include "kernels/base/error.h"
#include "storage/session/list_lengths.h"
#include "storage/session/session_settings.h"

namespace palimpsest::ui {
namespace {

using nlohmann::ordered_json;

ordered_json policy_json(const CompareResult& result)
{
    ordered_json parameters = ordered_json::object();
    for (const auto& [key, value] : result.options.policy.parameters)
        parameters[key] = value;
    return {
        {"name", result.options.policy.name}, {"budget", result.budget},
        {"chunk", result.options.chunk},      {"positions", storage::name_of(result.options.positions)},
        {"parameters", parameters},           {"kept_per_layer", storage::ListLengths::of(*result.kept).layers}};
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
    return {
        {"policy", policy_json(result)},
        {"tokens_seen", result.tokens_read},
        {"complete", result.complete},
        {"perplexity", result.loss.perplexity()},
        {"mean_loss", result.loss.mean()},
        {"tokens_per_second", result.tokens_per_second},
        {"memory",
         {{"cache_bytes", result.telemetry.cache_bytes},
          {"scratch_bytes", result.telemetry.scratch_bytes},
          {"full_cache_bytes", result.telemetry.full_cache_bytes}}},
        {"reach",
         {{"median_age_tokens", result.reach.median_age}, {"kept_by_tenth_of_the_input", result.reach.by_tenth}}},
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

void write_comparison(const CompareState& state, const QString& file)
{
    const std::string text =
        comparison_json(state).dump(2, ' ', false, ordered_json::error_handler_t::replace) + '\n';
    QSaveFile out(file);
    const auto size = static_cast<qint64>(text.size());
    if (out.open(QIODevice::WriteOnly) && out.write(text.data(), size) == size && out.commit()) return;
    throw Error(ErrorKind::Resources, "PAL-DISK-01", printable(file.toStdString()),
                "it could not be written: " + out.errorString().toStdString(),
                "choose another place, or make room there");
}

} // namespace palimpsest::ui
