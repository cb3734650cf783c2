#include "engine/policy/budgets/threshold_budget.h"
#include "engine/policy/named/named_policy.h"
#include "engine/policy/named/retrieval_parameters.h"
#include "engine/policy/named/window_parameters.h"
#include "engine/policy/selection/top_k.h"

namespace palimpsest::engine {

namespace {

PolicyParts compose(PolicyParameters& parameters, const PolicyContext& context)
{
    const WindowFrame frame = read_window(parameters, context, 32);
    return {.budget = std::make_unique<MassThreshold>(read_mass(parameters), context, frame.slots),
            .signal = frame.mean(),
            .selection = std::make_unique<TopK>(),
            .ends = frame.ends,
            .positions = PositionMode::Contiguous};
}

} // namespace

NamedPolicy twilight_evict_policy()
{
    PolicyInfo info{.name = "twilight-evict",
                    .keeps = Text("Keeps the fewest tokens that hold a share p of the newest queries' attention, "
                                  "within the budget."),
                    .signals = Text("attention of the last `window` queries"),
                    .cost = cost_of_window(),
                    .positions = Text("contiguous"),
                    .paper = Text("our own, after {0}", twilight_title),
                    .parameters = window_infos(32)};
    info.parameters.push_back(mass_info());
    return {.info = std::move(info), .compose = compose};
}

} // namespace palimpsest::engine
