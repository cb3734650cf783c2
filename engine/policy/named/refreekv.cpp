#include <algorithm>

#include "engine/policy/budgets/threshold_budget.h"
#include "engine/policy/named/named_policy.h"
#include "engine/policy/named/schedule.h"
#include "engine/policy/named/window_parameters.h"
#include "engine/policy/selection/layer_split.h"
#include "engine/policy/selection/prefix_suffix.h"
#include "engine/policy/selection/top_k.h"

namespace palimpsest::engine {

namespace {

// The number of averaged rows, or a percentage of the list.
void read_rows(PolicyParameters& parameters, Signal& signal)
{
    const std::string given = parameters.text("rows", "1");
    if (!given.ends_with('%')) {
        signal.window = parameters.positive("rows", 1);
        return;
    }
    const auto percent = parse_number(std::string_view(given).substr(0, given.size() - 1));
    if (!percent || *percent <= 0 || *percent > 100)
        parameters.refuse_value("rows", "is no percentage above 0 and up to 100", "write it like 5%");
    signal.window_percent = *percent;
}

std::unique_ptr<Selection> selection_of(Ranking ranking, int32_t full_layers, int32_t sinks)
{
    auto by_position = std::make_unique<PrefixSuffix>(sinks);
    if (ranking == Ranking::Position) return by_position;
    return std::make_unique<LayerSplit>(full_layers, std::move(by_position), std::make_unique<TopK>());
}

NormThreshold::Rule read_rule(PolicyParameters& parameters)
{
    const bool old = parameters.predates("norm");
    const Choices<NormOf> norms = {{"head", NormOf::Heads}, {"mean", NormOf::Mean}};
    NormThreshold::Rule rule;
    rule.threshold = parameters.number("threshold", 0.01, 0, 1);
    rule.ranking =
        parameters.choice<Ranking>("ranking", {{"position", Ranking::Position}, {"score", Ranking::Score}});
    rule.norm = parameters.choice("norm", old ? Choices<NormOf>(norms.rbegin(), norms.rend()) : norms);
    rule.mask_sinks = parameters.whole("mask_sinks", old || rule.ranking == Ranking::Score ? 0 : 4);
    rule.full_layers = parameters.whole("full_layers", 2);
    return rule;
}

// Tokens that a stream with a budget keeps in any case: one row may not need them, but evicted tokens cannot come
// back.
int64_t read_floor(PolicyParameters& parameters, const PolicyContext& context)
{
    const int32_t budget = context.budget;
    const bool is_stream = budget != no_budget && !read_schedule(parameters).once;
    const int32_t floor = parameters.whole("floor", is_stream && !parameters.predates("norm") ? budget / 4 : 0);
    if (floor > 0 && !is_stream)
        parameters.refuse_value("floor", "has no effect without a budget or with schedule=once", "leave it out");
    const int64_t whole = budget + static_cast<int64_t>(context.pins.tokens());
    if (is_stream && floor > whole)
        parameters.refuse_value("floor", "is above the budget of " + std::to_string(whole), "give at most that");
    return floor;
}

PolicyParts compose(PolicyParameters& parameters, const PolicyContext& context)
{
    const ProtectedEnds ends{.sinks = parameters.whole("sinks", 4), .recent = parameters.whole("recent", 1)};
    NormThreshold::Rule rule = read_rule(parameters);
    // With ranking=score and norm=head, a token's score is the sum over the window's rows, as in the authors' code;
    // otherwise it is their mean.
    const bool by_total = rule.ranking == Ranking::Score && rule.norm == NormOf::Heads;
    Signal signal{.kind = by_total ? ScoreKind::Total : ScoreKind::Mean};
    read_rows(parameters, signal);
    const bool capped = context.budget != no_budget;
    rule.least = std::max<int64_t>(read_floor(parameters, context) - ends.sinks - ends.recent, 0);
    PolicyContext within = context;
    if (!capped) within.budget = context.context;
    const int64_t slots = require_slots(parameters, within, ends);
    return {.budget = std::make_unique<NormThreshold>(rule, context, slots),
            .signal = signal,
            .shaping = {.layer_mean = true},
            .selection = selection_of(rule.ranking, rule.full_layers, ends.sinks),
            .ends = ends,
            .positions = PositionMode::Original,
            .capped = capped};
}

} // namespace

NamedPolicy refreekv_policy()
{
    return {
        .info = {.name = "refreekv",
                 .keeps = "The first tokens and as much recent text as holds 99 % of the norm of the newest "
                          "query's attention, averaged over the heads of a layer, within the budget.",
                 .signals = "attention of the last `rows` queries",
                 .cost = "an attention pass over the last queries of each chunk",
                 .positions = original_within_context,
                 .paper = "ReFreeKV; its setting is refreekv:schedule=once with --budget none",
                 .parameters = {sinks_info("4"),
                                {.key = "recent",
                                 .meaning = "newest tokens, always kept",
                                 .default_text = "1",
                                 .range = "0 to c - sinks - 1"},
                                {.key = "threshold",
                                 .meaning = "share of the norm that may be missing",
                                 .default_text = "0.01",
                                 .range = "0 to 1"},
                                {.key = "rows",
                                 .meaning = "newest queries that are averaged, or their percentage of the list",
                                 .default_text = "1",
                                 .range = "1 and more; above 0% to 100%"},
                                {.key = "full_layers",
                                 .meaning = "lowest layers that use the whole budget",
                                 .default_text = "2",
                                 .range = "0 and more"},
                                {.key = "ranking",
                                 .meaning = "in what order tokens are counted: from the newest back, or from the "
                                            "most attended on",
                                 .default_text = "position",
                                 .range = "position, score"},
                                {.key = "norm",
                                 .meaning = "the norms of the query heads' attention, averaged, or the norm of its "
                                            "mean",
                                 .default_text = "head",
                                 .range = "head, mean"},
                                {.key = "mask_sinks",
                                 .meaning = "first tokens that no norm counts, since they would outweigh the rest",
                                 .default_text = "4; 0 with ranking=score",
                                 .range = "0 and more"},
                                {.key = "floor",
                                 .meaning =
                                     "within a budget and without schedule=once: tokens that are kept in any "
                                     "case",
                                 .default_text = "c/4",
                                 .range = "0 to c"}}},
        .compose = compose};
}

} // namespace palimpsest::engine
