#include "engine/policy/named/named_policy.h"
#include "engine/policy/named/retrieval_parameters.h"

namespace palimpsest::engine {

namespace {

PolicyParts compose(PolicyParameters& parameters, const PolicyContext& context)
{
    return {
        .budget = nullptr, .positions = PositionMode::Original, .retrieval = read_retrieval(parameters, context)};
}

} // namespace

NamedPolicy quest_policy()
{
    return {
        .info = {.name = "quest",
                 .keeps = Text("Keeps every token; each generated token reads only the retrieval pages that could "
                               "matter, as many as the budget holds."),
                 .signals = Text("bounds of the keys of each retrieval page"),
                 .cost = Text("a pass over the bounds for every generated token; memory grows with the text"),
                 .positions = original_within_context(),
                 .prefers_original = true,
                 .paper = Text::verbatim("Quest (arXiv 2406.10774)"),
                 .parameters = retrieval_infos()},
        .compose = compose};
}

} // namespace palimpsest::engine
