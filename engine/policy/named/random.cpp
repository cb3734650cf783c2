#include "engine/policy/budgets/fixed_budget.h"
#include "engine/policy/named/named_policy.h"
#include "engine/policy/named/window_parameters.h"
#include "engine/policy/selection/random_sample.h"

namespace palimpsest::engine {

namespace {

PolicyParts compose(PolicyParameters& parameters, const PolicyContext& context)
{
    const ProtectedEnds ends = read_half_ends(parameters, context);
    const auto seed = static_cast<uint32_t>(parameters.seed("seed", 0));
    const int64_t slots = require_slots(parameters, context, ends);
    return {.budget = FixedBudget::uniform(context, slots),
            .selection = std::make_unique<RandomSample>(seed),
            .ends = ends,
            .positions = PositionMode::Contiguous};
}

} // namespace

NamedPolicy random_policy()
{
    PolicyInfo info{.name = "random",
                    .keeps = Text("Keeps a uniform random sample of the text between the first tokens and the "
                                  "newest ones: a control, which a policy with scores should beat."),
                    .signals = Text("none"),
                    .cost = Text("nothing beyond the model's own attention"),
                    .positions = Text("contiguous"),
                    .paper = Text("none: a control for comparisons"),
                    .parameters = half_ends_infos()};
    info.parameters.push_back(
        {.key = "seed",
         .meaning = Text("number that chooses the sample; the same seed keeps the same tokens of a text"),
         .default_text = Text::verbatim("0"),
         .range = range_of("0", "2147483647")});
    return {.info = std::move(info), .compose = compose};
}

} // namespace palimpsest::engine
