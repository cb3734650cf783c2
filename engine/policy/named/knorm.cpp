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
            .signal = {.kind = ScoreKind::SmallNorm, .window = SignalNeeds::all},
            .selection = std::make_unique<TopK>(),
            .ends = ends,
            .positions = PositionMode::Original};
}

} // namespace

NamedPolicy knorm_policy()
{
    return {
        .info = {.name = "knorm",
                 .keeps = Text("Keeps the tokens whose keys are shortest, because short keys tend to receive much "
                               "attention."),
                 .signals = Text("norms of keys"),
                 .cost = Text("a sum over each new key"),
                 .positions = original_within_context(),
                 .prefers_original = true,
                 .paper = Text("{0}; as its authors cut a prompt: {1}", "L2 norm (arXiv 2406.11430)",
                               "knorm:schedule=once"),
                 .parameters = {sinks_info(), recent_info("0")}},
        .compose = compose};
}

} // namespace palimpsest::engine
