#include "engine/policy/named/named_policy.h"
#include "engine/policy/named/tree_parameters.h"
#include "engine/policy/selection/cyclic_tile.h"
#include "engine/policy/selection/limited_cycle.h"
#include "engine/policy/selection/tile_selection.h"

namespace palimpsest::engine {

namespace {

std::vector<int32_t> slots_by_layer(const Budget& budget, const PolicyContext& context)
{
    std::vector<int32_t> slots;
    for (int32_t l = 0; l < context.layers; ++l)
        slots.push_back(budget.most(l));
    return slots;
}

PolicyParts compose(PolicyParameters& parameters, const PolicyContext& context)
{
    const auto height = parameters.positive_or_none("height");
    TreeParameters tree = read_tree_parameters(parameters, context, height.has_value());
    if (height && !tree.budget->is_constant())
        parameters.refuse("height=" + std::to_string(*height) + " needs a budget that does not change",
                          "leave height out, or budget=auto, heads=ada and observed allocations");
    std::unique_ptr<TileSchedule> pairs;
    if (height) {
        pairs = std::make_unique<LimitedCycle>(slots_by_layer(*tree.budget, context), *height);
    } else {
        pairs = std::make_unique<CyclicTile>(tree.lists(context), tree.most_slots(context),
                                             TileShape{.size = 2, .kept = 1});
    }
    auto selection = std::make_unique<TileSelection>(std::move(pairs), tree.tile_rule, tree.schedules());
    return {.budget = std::move(tree.budget),
            .signal = tree.signal,
            .selection = std::move(selection),
            .ends = tree.ends,
            .positions = PositionMode::Contiguous};
}

} // namespace

// Ties and the pair's choice: HigherScore, engine/policy/selection/tile_rule.h.
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
