#include "engine/policy/budgets/fixed_budget.h"
#include "engine/policy/named/named_policy.h"
#include "engine/policy/named/window_parameters.h"
#include "engine/policy/selection/top_k.h"

namespace palimpsest::engine {

namespace {

PolicyParts compose(PolicyParameters& parameters, const PolicyContext& context)
{
    const ProtectedEnds ends{.sinks = parameters.whole("sinks", 0), .recent = parameters.whole("recent", 0)};
    const int64_t slots = require_slots(parameters, context, ends);
    return {.budget = FixedBudget::uniform(context, slots),
            .signal = {.kind = ScoreKind::Dissimilar, .window = 1},
            .selection = std::make_unique<TopK>(),
            .ends = ends,
            .positions = PositionMode::Original};
}

} // namespace

NamedPolicy keydiff_policy()
{
    return {
        .info = {.name = "keydiff",
                 .keeps = Text("Keeps the tokens whose keys differ most from the mean of all keys, so that what is "
                               "kept is varied."),
                 .signals = Text("similarity of each key to the mean of the list's keys"),
                 .cost = Text("two passes over the keys of the list, for each chunk and each generated token"),
                 .positions = original_within_context(),
                 .prefers_original = true,
                 .paper = Text::verbatim("KeyDiff (arXiv 2504.15364)"),
                 .parameters = {sinks_info(), recent_info("0")}},
        .compose = compose};
}

} // namespace palimpsest::engine
