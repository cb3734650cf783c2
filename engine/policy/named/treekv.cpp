// treekv. HigherScore (engine/policy/selection/tile_rule.h) chooses the kept entry of a pair and decides ties.
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
    slots.reserve(static_cast<size_t>(context.layers));
    for (int32_t l = 0; l < context.layers; ++l)
        slots.push_back(budget.most(l));
    return slots;
}

PolicyParts compose(PolicyParameters& parameters, const PolicyContext& context)
{
    const auto height = parameters.positive_or_none("height");
    TreeParameters tree = read_tree_parameters(parameters, context, height.has_value());
    if (height && !tree.budget->is_constant())
        parameters.refuse(Text("height={0} needs a budget that does not change", *height),
                          Text("leave height out, or budget=auto, heads=ada and the allocations entropy, gini and "
                               "sparsity"));
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

NamedPolicy treekv_policy()
{
    PolicyInfo info{.name = "treekv",
                    .keeps =
                        Text("Keeps the token with the higher score of each pair of neighbours, in cycles from "
                             "the oldest pair to the newest, so that text thins out smoothly with age."),
                    .signals = signals_of_tree(),
                    .cost = cost_of_tree(),
                    .positions = Text("contiguous"),
                    .paper = Text::verbatim(treekv_title),
                    .parameters = tree_parameter_infos()};
    info.parameters.push_back(
        {.key = "height",
         .meaning = Text("pairs whose left token has this height are skipped; the token that is kept of a "
                         "pair gets the greater height of the two, plus one"),
         .default_text = Text::verbatim("none"),
         .range = Text("{0}, or {1} or more", "none", 1)});
    return {.info = std::move(info), .compose = compose};
}

} // namespace palimpsest::engine
