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
                    .keeps =
                        Text("Keeps every token; for each generated token, every query head reads only the "
                             "fewest tokens of the best retrieval pages that hold a share p of its attention."),
                    .signals = Text("bounds of the keys of each retrieval page"),
                    .cost = Text("a pass over the bounds and over the keys of the best retrieval pages for every "
                                 "generated token; memory grows with the text"),
                    .positions = original_within_context(),
                    .prefers_original = true,
                    .paper = Text::verbatim(twilight_title),
                    .parameters = retrieval_infos()};
    info.parameters.push_back(mass_info());
    return {.info = std::move(info), .compose = compose};
}

} // namespace palimpsest::engine
