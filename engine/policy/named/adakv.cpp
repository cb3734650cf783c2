#include "engine/policy/named/named_policy.h"
#include "engine/policy/named/window_parameters.h"
#include "engine/policy/selection/top_k.h"

namespace palimpsest::engine {

namespace {

constexpr PoolingDefault pooling{.pooling = Pooling::Max, .kernel = 7};

PolicyParts compose(PolicyParameters& parameters, const PolicyContext& context)
{
    const WindowFrame frame = read_window(parameters, context, 32);
    const Shaping shaping = read_pooling(parameters, pooling);
    auto layers = read_layers(parameters, context, frame.basis());
    return {.budget = share_heads(parameters, context, frame.basis(), std::move(layers)),
            .signal = frame.mean(),
            .shaping = shaping,
            .selection = std::make_unique<TopK>(),
            .ends = frame.ends,
            .positions = PositionMode::Original};
}

} // namespace

NamedPolicy adakv_policy()
{
    PolicyInfo info{.name = "adakv",
                    .keeps =
                        "What the newest tokens attend to; focused heads of a layer give slots to diffuse ones.",
                    .signals = "attention of the last `window` queries",
                    .cost = "an attention pass over the window of each chunk",
                    .positions = original_within_context,
                    .paper = "Ada-KV (arXiv 2407.11550)",
                    .parameters = window_infos(32)};
    add_pooling_infos(info.parameters, pooling);
    add_layer_infos(info.parameters);
    info.parameters.push_back({.key = "floor",
                               .meaning = "the share of its slots that no head gives away",
                               .default_text = "0.2",
                               .range = "0 to 1"});
    return {.info = std::move(info), .compose = compose};
}

} // namespace palimpsest::engine
