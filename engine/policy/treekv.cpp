#include "engine/policy/cyclic_tile.h"
#include "engine/policy/limited_cycle.h"
#include "engine/policy/named_policy.h"
#include "engine/policy/tile_selection.h"
#include "engine/policy/tree_parameters.h"

namespace palimpsest::engine {

namespace {

PolicyParts compose(PolicyParameters& parameters, const PolicyContext& context)
{
    const TreeParameters tree = read_tree_parameters(parameters, context);
    const auto height = parameters.positive_or_none("height");
    std::unique_ptr<TileWalk> pairs;
    if (height) {
        pairs = std::make_unique<LimitedCycle>(context.layers, tree.slots, *height);
    } else {
        pairs = std::make_unique<CyclicTile>(context.layers, tree.slots, TileShape{.size = 2, .kept = 1});
    }
    return {.budget = ListBudget::uniform(context.budget),
            .score = tree.score,
            .ends = tree.ends,
            .selection = std::make_unique<TileSelection>(std::move(pairs), tree.survivors),
            .positions = PositionMode::Contiguous};
}

} // namespace

NamedPolicy treekv_policy()
{
    PolicyInfo info{.name = "treekv",
                    .keeps = "Of two neighbours the more important, pair by pair from old to new: text thins out "
                             "smoothly with age.",
                    .signals = "attention of all queries; of the newest with score=last; none with rule=left",
                    .cost = "a second attention pass over each chunk; none with rule=left",
                    .positions = "contiguous",
                    .paper = "TreeKV: Smooth Key-Value Cache Compression with Tree Structures",
                    .parameters = tree_parameter_infos()};
    info.parameters.push_back({.key = "height",
                               .meaning = "pairs whose left token has won this many merges are passed over",
                               .default_text = "none",
                               .range = "none, 1 and more"});
    return {.info = std::move(info), .compose = compose};
}

} // namespace palimpsest::engine
