#include "engine/policy/named/named_policy.h"
#include "engine/policy/named/window_parameters.h"
#include "engine/policy/selection/top_k.h"

namespace palimpsest::engine {

namespace {

Choices<ScoreKind> h2o_scores()
{
    return {{"sum", ScoreKind::Total}, {"mean", ScoreKind::Mean}};
}

PolicyParts compose(PolicyParameters& parameters, const PolicyContext& context)
{
    const ProtectedEnds ends{.sinks = parameters.whole("sinks", 0),
                             .recent = parameters.whole("recent", context.budget / 2)};
    const ScoreKind score = parameters.choice("score", h2o_scores());
    const int64_t slots = require_slots(parameters, context, ends);
    return {.budget = read_budget(parameters, context, {.ends = ends, .slots = slots}),
            .signal = {.kind = score, .window = SignalNeeds::all},
            .selection = std::make_unique<TopK>(),
            .ends = ends,
            .positions = PositionMode::Contiguous};
}

} // namespace

NamedPolicy h2o_policy()
{
    PolicyInfo info{.name = "h2o",
                    .keeps = Text("Keeps the tokens that have received the most attention so far, and the newest "
                                  "ones."),
                    .signals = Text("attention of all queries"),
                    .cost = Text("a second attention pass over each chunk"),
                    .positions = Text("contiguous"),
                    .paper = Text::verbatim("H2O (arXiv 2306.14048)"),
                    .parameters = {sinks_info(), recent_info("budget/2"),
                                   choice_info("score",
                                               Text("the score of a token: its attention in total, or per query "
                                                    "that could see it, which does not favour old tokens"),
                                               names_of(h2o_scores()))}};
    add_budget_infos(info.parameters);
    return {.info = std::move(info), .compose = compose};
}

} // namespace palimpsest::engine
