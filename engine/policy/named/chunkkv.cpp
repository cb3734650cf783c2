#include "engine/policy/named/named_policy.h"
#include "engine/policy/named/window_parameters.h"
#include "engine/policy/selection/grouped_blocks.h"

namespace palimpsest::engine {

namespace {

Choices<BlockScore> block_scores()
{
    return {{"mean", BlockScore::Mean}, {"sum", BlockScore::Sum}};
}

PolicyParts compose(PolicyParameters& parameters, const PolicyContext& context)
{
    const WindowFrame frame = read_window(parameters, context, 32);
    const int32_t block = parameters.positive("block", 10);
    const auto score = parameters.choice("score", block_scores());
    return {.budget = read_budget(parameters, context, frame.basis()),
            .signal = frame.mean(),
            .selection = std::make_unique<GroupedBlocks>(block, std::vector<int32_t>{1}, score),
            .ends = frame.ends,
            .positions = PositionMode::Original};
}

} // namespace

NamedPolicy chunkkv_policy()
{
    PolicyInfo info{.name = "chunkkv",
                    .keeps =
                        Text("Keeps the blocks of neighbouring tokens that the newest queries attend to most, so "
                             "that phrases stay whole."),
                    .signals = Text("attention of the last `window` queries"),
                    .cost = cost_of_window(),
                    .positions = original_within_context(),
                    .prefers_original = true,
                    .paper = Text("{0}; as its authors cut a prompt: {1}", "ChunkKV (arXiv 2502.00299)",
                                  "chunkkv:score=sum,schedule=once"),
                    .parameters = window_infos(32)};
    info.parameters.push_back({.key = "block",
                               .meaning = Text("number of tokens in a block"),
                               .default_text = Text::verbatim("10"),
                               .range = at_least(1)});
    info.parameters.push_back(choice_info("score",
                                          Text("score of a block: the mean of its tokens' scores, or their sum, by "
                                               "which the last block counts for less if it is shorter"),
                                          names_of(block_scores())));
    add_budget_infos(info.parameters);
    return {.info = std::move(info), .compose = compose};
}

} // namespace palimpsest::engine
