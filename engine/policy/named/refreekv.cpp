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

// Reads the key `rows`: the number of averaged rows, or a percentage of the list.
void read_rows(PolicyParameters& parameters, Signal& signal)
{
    const std::string given = parameters.text("rows", "1");
    if (!given.ends_with('%')) {
        signal.window = parameters.positive("rows", 1);
        return;
    }
    const auto percent = parse_number(std::string_view(given).substr(0, given.size() - 1));
    if (!percent || *percent <= 0 || *percent > 100)
        parameters.refuse_value(Text("{0} is no percentage above 0 and up to 100", parameters.pair("rows")),
                                Text("write it like {0}", "5%"));
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

// Reads the key `floor`: how many tokens are kept in any case while a stream is read with a budget. A single row
// may not attend to them, but evicted tokens cannot come back.
int64_t read_floor(PolicyParameters& parameters, const PolicyContext& context)
{
    const int32_t budget = context.budget;
    const bool is_stream = budget != no_budget && !read_schedule(parameters).once;
    const int32_t floor = parameters.whole("floor", is_stream && !parameters.predates("norm") ? budget / 4 : 0);
    if (floor > 0 && !is_stream)
        parameters.refuse_value(
            Text("{0} has no effect without a budget or with schedule=once", parameters.pair("floor")),
            Text("leave it out"));
    const int64_t whole = budget + static_cast<int64_t>(context.pins.tokens());
    if (is_stream && floor > whole)
        parameters.refuse_value(Text("{0} is above the budget of {1}", parameters.pair("floor"), whole),
                                Text("give at most that"));
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
    PolicyInfo info{
        .name = "refreekv",
        .keeps = Text("Keeps the first tokens and as much recent text as holds 99 % of the norm of the newest "
                      "query's attention, averaged over the heads of a layer, within the budget."),
        .signals = Text("attention of the last `rows` queries"),
        .cost = Text("an attention pass over the last `rows` queries of each chunk"),
        .positions = original_within_context(),
        .prefers_original = true,
        .paper = Text("{0}; its own setting is {1} with {2} set to {3}", "ReFreeKV", "refreekv:schedule=once",
                      Setting::Budget, "none"),
        .parameters = {
            sinks_info("4"),
            recent_info("1"),
            {.key = "threshold",
             .meaning = Text("share of the norm that may be missing"),
             .default_text = Text::verbatim("0.01"),
             .range = range_of("0", "1")},
            {.key = "rows",
             .meaning = Text("how many of the newest queries are averaged, as a number or as a percentage "
                             "of the list"),
             .default_text = Text::verbatim("1"),
             .range = Text("{0} or more, or a percentage above {1} and up to {2}", 1, "0%", "100%")},
            {.key = "full_layers",
             .meaning = Text("number of lowest layers that use the whole budget"),
             .default_text = Text::verbatim("2"),
             .range = at_least(0)}}};
    info.parameters.push_back(choice_info("ranking",
                                          Text("in which order tokens are counted until they hold enough of the "
                                               "norm: from the newest backwards, or the most attended first"),
                                          {"position", "score"}));
    info.parameters.push_back(choice_info("norm",
                                          Text("whether the norm is taken of the attention of each query head and "
                                               "averaged, or of the mean of their attention"),
                                          {"head", "mean"}));
    info.parameters.push_back(
        {.key = "mask_sinks",
         .meaning = Text("number of first tokens that the norm leaves out, because they would outweigh the rest"),
         .default_text = Text("4; 0 with ranking=score"),
         .range = at_least(0)});
    info.parameters.push_back(
        {.key = "floor",
         .meaning =
             Text("number of tokens that are kept in any case; only with a budget and without schedule=once"),
         .default_text = Text::verbatim("budget/4"),
         .range = range_of("0", "budget")});
    return {.info = std::move(info), .compose = compose};
}

} // namespace palimpsest::engine
