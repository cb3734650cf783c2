#include "engine/policy/tree_parameters.h"

#include <algorithm>

namespace palimpsest::engine {

namespace {

enum class Rule : uint8_t { Score, Left };

std::shared_ptr<const Survivors> always_left(int32_t layers)
{
    return std::make_shared<FixedOffsets>(std::vector<std::vector<uint32_t>>(static_cast<size_t>(layers), {0u}));
}

} // namespace

std::vector<ParameterInfo> tree_parameter_infos()
{
    return {
        {.key = "sinks",
         .meaning = "first tokens, always kept",
         .default_text = "4",
         .range = "0 to c - recent - 1"},
        {.key = "recent",
         .meaning = "newest tokens, always kept",
         .default_text = "max(0, c/2 - sinks)",
         .range = "0 to c - sinks - 1"},
        {.key = "rule",
         .meaning = "who stays of two neighbours: the higher score, or always the left",
         .default_text = "score",
         .range = "score, left"},
        {.key = "score",
         .meaning = "attention per query that could see the token, in total, or of the newest query",
         .default_text = "mean",
         .range = "mean, sum, last"},
    };
}

TreeParameters read_tree_parameters(PolicyParameters& parameters, const PolicyContext& context)
{
    TreeParameters tree;
    tree.ends.sinks = parameters.whole("sinks", 4);
    tree.ends.recent = parameters.whole("recent", std::max(0, context.budget / 2 - tree.ends.sinks));
    const auto rule = parameters.choice<Rule>("rule", {{"score", Rule::Score}, {"left", Rule::Left}});
    tree.score = parameters.choice<ScoreKind>(
        "score", {{"mean", ScoreKind::Mean}, {"sum", ScoreKind::Sum}, {"last", ScoreKind::Last}});

    const int64_t slots = tree.ends.slots(context.budget);
    if (slots < 1) {
        parameters.refuse(
            "sinks=" + std::to_string(tree.ends.sinks) + " and recent=" + std::to_string(tree.ends.recent) +
                " leave no slot to choose in a budget of " + std::to_string(context.budget) + " tokens",
            "raise the budget, or lower sinks or recent until one slot is left");
    }
    tree.slots = static_cast<int32_t>(slots);
    if (rule == Rule::Left) {
        tree.score = ScoreKind::None;
        tree.survivors = always_left(context.layers);
    } else {
        tree.survivors = std::make_shared<HigherScore>();
    }
    return tree;
}

} // namespace palimpsest::engine
