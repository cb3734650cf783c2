#include "engine/policy/named/named_policy.h"
#include "engine/policy/named/retrieval_parameters.h"

namespace palimpsest::engine {

namespace {

PolicyParts compose(PolicyParameters& parameters, const PolicyContext& context)
{
    Retrieval retrieval = read_retrieval(parameters, context);
    retrieval.top_p = read_mass(parameters);
    return {.budget = nullptr, .positions = PositionMode::Original, .retrieval = retrieval};
}

} // namespace

NamedPolicy twilight_policy()
{
    PolicyInfo info{.name = "twilight",
                    .keeps = "Every token; while generating, each head reads the fewest tokens of the best pages "
                             "that hold a share p of its attention.",
                    .signals = "bounds of the keys of each page",
                    .cost = "a pass over the bounds and over the keys of the best pages for every generated token; "
                            "memory grows with the text",
                    .positions = original_within_context,
                    .paper = "Twilight (arXiv 2502.02770)",
                    .parameters = retrieval_infos()};
    info.parameters.push_back(mass_info());
    return {.info = std::move(info), .compose = compose};
}

} // namespace palimpsest::engine
