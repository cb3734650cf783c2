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
    return {.info = {.name = "treekv-log",
                     .keeps =
                         "Of two neighbours the more important, where text is densest: about equally many tokens "
                         "for every doubling of age.",
                     .signals = "attention of all queries; of the newest with score=last; none with rule=left",
                     .cost = "a second attention pass over each chunk; none with rule=left",
                     .positions = "contiguous",
                     .paper = "ours, after TreeKV",
                     .parameters = tree_parameter_infos()},
            .compose = compose};
}

} // namespace palimpsest::engine
