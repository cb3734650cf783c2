#include "engine/policy/named/named_policy.h"
#include "engine/policy/named/window_parameters.h"
#include "engine/policy/selection/top_k.h"

namespace palimpsest::engine {

namespace {

constexpr PoolingDefault pooling{.pooling = Pooling::Average, .kernel = 5};

PolicyParts compose(PolicyParameters& parameters, const PolicyContext& context)
{
    const WindowFrame frame = read_window(parameters, context, 32);
    return {.budget = read_budget(parameters, context, frame.basis()),
            .signal = frame.mean(),
            .shaping = read_pooling(parameters, pooling),
            .selection = std::make_unique<TopK>(),
            .ends = frame.ends,
            .positions = PositionMode::Original};
}

} // namespace

NamedPolicy snapkv_policy()
{
    PolicyInfo info{.name = "snapkv",
                    .keeps = "What the newest tokens attend to, with the neighbours of every peak.",
                    .signals = "attention of the last `window` queries",
                    .cost = "an attention pass over the window of each chunk",
                    .positions = original_within_context,
                    .paper = "SnapKV (arXiv 2404.14469); as its authors cut a prompt: snapkv:schedule=once",
                    .parameters = window_infos(32)};
    add_pooling_infos(info.parameters, pooling);
    add_budget_infos(info.parameters);
    return {.info = std::move(info), .compose = compose};
}

} // namespace palimpsest::engine
