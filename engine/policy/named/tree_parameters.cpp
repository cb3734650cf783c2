#include "engine/policy/named/tree_parameters.h"

#include <algorithm>

#include "engine/policy/named/window_parameters.h"

namespace palimpsest::engine {

namespace {

enum class Rule : uint8_t { Score, Left };
enum class TreeScore : uint8_t { Mean, Sum, Last };

Signal signal_of(TreeScore score)
{
    switch (score) {
    case TreeScore::Sum:
        return {.kind = ScoreKind::Total, .window = SignalNeeds::all};
    case TreeScore::Last:
        return {.kind = ScoreKind::Total, .window = 1};
    case TreeScore::Mean:
        break;
    }
    return {.kind = ScoreKind::Mean, .window = SignalNeeds::all};
}

std::shared_ptr<const TileRule> always_left(int32_t layers)
{
    return std::make_shared<FixedOffsets>(std::vector<std::vector<uint32_t>>(static_cast<size_t>(layers), {0u}));
}

} // namespace

Text signals_of_tree()
{
    return Text("attention of all queries; of the newest query with score=last; none with rule=left");
}

Text cost_of_tree()
{
    return Text("a second attention pass over each chunk; with score=last only over its last query; none with "
                "rule=left");
}

std::vector<ParameterInfo> tree_parameter_infos()
{
    std::vector<ParameterInfo> infos = half_ends_infos();
    infos.push_back(choice_info(
        "rule", Text("which of two neighbours is kept: the one with the higher score, or always the left one"),
        {"score", "left"}));
    infos.push_back(
        choice_info("score",
                    Text("the score of a token: its attention per query that could see it, its attention in total, "
                         "or that of the newest query"),
                    {"mean", "sum", "last"}));
    add_budget_infos(infos);
    return infos;
}

size_t TreeParameters::lists(const PolicyContext& context) const
{
    const auto layers = static_cast<size_t>(context.layers);
    return schedules() == SchedulePer::PerLayer ? layers : layers * static_cast<size_t>(context.kv_heads);
}

int32_t TreeParameters::most_slots(const PolicyContext& context) const
{
    int32_t most = 0;
    for (int32_t l = 0; l < context.layers; ++l)
        most = std::max(most, budget->most(l));
    return most;
}

TreeParameters read_tree_parameters(PolicyParameters& parameters, const PolicyContext& context,
                                    bool constant_budget)
{
    TreeParameters tree;
    tree.ends = read_half_ends(parameters, context);
    const auto rule = parameters.choice<Rule>("rule", {{"score", Rule::Score}, {"left", Rule::Left}});
    tree.signal = signal_of(parameters.choice<TreeScore>(
        "score", {{"mean", TreeScore::Mean}, {"sum", TreeScore::Sum}, {"last", TreeScore::Last}}));
    const int64_t slots = require_slots(parameters, context, tree.ends);
    if (rule == Rule::Left) {
        parameters.refuse_idle_with({"score"}, "rule=left");
        tree.signal = {};
        tree.tile_rule = always_left(context.layers);
    } else {
        tree.tile_rule = std::make_shared<HigherScore>();
    }
    tree.budget = read_budget(parameters, context,
                              {.ends = tree.ends,
                               .slots = slots,
                               .window = std::min(tree.signal.window, statistics_window),
                               .constant = constant_budget});
    return tree;
}

} // namespace palimpsest::engine
