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
        parameters.refuse(Text("{0}={1} does not fit a budget of {2} tokens", "sinks", sinks, context.budget),
                          Text("raise the budget or lower {0}", "sinks"));
    }
    return {.budget = FixedBudget::uniform(context, 0),
            .selection = std::make_unique<PrefixSuffix>(sinks),
            .ends = {.sinks = sinks, .recent = context.budget - sinks},
            .positions = PositionMode::Contiguous};
}

} // namespace

NamedPolicy streaming_policy()
{
    return {
        .info = {.name = "streaming",
                 .keeps = Text("Keeps the first few tokens, which serve as attention sinks, and the newest ones."),
                 .signals = Text("none"),
                 .cost = Text("nothing beyond the model's own attention"),
                 .positions = Text("contiguous"),
                 .paper = Text("{0}; {1} keeps the same tokens", "StreamingLLM (arXiv 2309.17453)",
                               "LM-Infinite (arXiv 2308.16137)"),
                 .parameters = {{.key = "sinks",
                                 .meaning = Text("first tokens, always kept"),
                                 .default_text = Text::verbatim("4"),
                                 .range = range_of("0", "budget")}}},
        .compose = compose};
}

} // namespace palimpsest::engine
