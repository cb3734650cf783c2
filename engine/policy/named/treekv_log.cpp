#include "engine/policy/named/named_policy.h"
#include "engine/policy/named/tree_parameters.h"
#include "engine/policy/selection/fullest_level.h"
#include "engine/policy/selection/tile_selection.h"

namespace palimpsest::engine {

namespace {

PolicyParts compose(PolicyParameters& parameters, const PolicyContext& context)
{
    TreeParameters tree = read_tree_parameters(parameters, context);
    auto pairs = std::make_unique<FullestLevel>(tree.lists(context), tree.most_slots(context));
    auto selection = std::make_unique<TileSelection>(std::move(pairs), tree.tile_rule, tree.schedules());
    return {.budget = std::move(tree.budget),
            .signal = tree.signal,
            .selection = std::move(selection),
            .ends = tree.ends,
            .positions = PositionMode::Contiguous};
}

} // namespace

NamedPolicy treekv_log_policy()
{
    return {
        .info = {.name = "treekv-log",
                 .keeps = Text("Keeps the token with the higher score of two neighbours, always where the kept "
                               "text is densest, so that about equally many tokens remain for every doubling of "
                               "age."),
                 .signals = signals_of_tree(),
                 .cost = cost_of_tree(),
                 .positions = Text("contiguous"),
                 .paper = Text("our own, after {0}", treekv_title),
                 .parameters = tree_parameter_infos()},
        .compose = compose};
}

} // namespace palimpsest::engine
