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
                    .keeps = Text("Keeps the tokens that the newest queries attend to; within a layer, heads with "
                                  "focused attention give slots to heads with diffuse attention."),
                    .signals = Text("attention of the last `window` queries"),
                    .cost = cost_of_window(),
                    .positions = original_within_context(),
                    .prefers_original = true,
                    .paper = Text::verbatim("Ada-KV (arXiv 2407.11550)"),
                    .parameters = window_infos(32)};
    add_pooling_infos(info.parameters, pooling);
    add_layer_infos(info.parameters);
    info.parameters.push_back({.key = "floor",
                               .meaning = Text("share of its slots that a head keeps in any case"),
                               .default_text = Text::verbatim("0.2"),
                               .range = range_of("0", "1")});
    return {.info = std::move(info), .compose = compose};
}

} // namespace palimpsest::engine
