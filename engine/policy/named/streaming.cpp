#include "engine/policy/named/budget_parameters.h"
#include "engine/policy/named/named_policy.h"
#include "engine/policy/selection/prefix_suffix.h"

namespace palimpsest::engine {

namespace {

PolicyParts compose(PolicyParameters& parameters, const PolicyContext& context)
{
    require_budget(parameters, context);
    const int32_t sinks = parameters.whole("sinks", 4);
    if (sinks > context.budget) {
        parameters.refuse("sinks=" + std::to_string(sinks) + " does not fit a budget of " +
                              std::to_string(context.budget) + " tokens",
                          "raise the budget or lower sinks");
    }
    return {.budget = FixedBudget::uniform(context, 0),
            .selection = std::make_unique<PrefixSuffix>(sinks),
            .ends = {.sinks = sinks, .recent = context.budget - sinks},
            .positions = PositionMode::Contiguous};
}

} // namespace

NamedPolicy streaming_policy()
{
    return {.info = {.name = "streaming",
                     .keeps = "The first few tokens, which soak up attention, and the newest ones.",
                     .signals = "none",
                     .cost = "no attention pass beyond plain attention",
                     .positions = "contiguous",
                     .paper = "StreamingLLM (arXiv 2309.17453); the same set as LM-Infinite (2308.16137)",
                     .parameters = {{.key = "sinks",
                                     .meaning = "first tokens, always kept",
                                     .default_text = "4",
                                     .range = "0 to c"}}},
            .compose = compose};
}

} // namespace palimpsest::engine
