#include "engine/policy/named/named_policy.h"
#include "engine/policy/named/window_parameters.h"
#include "engine/policy/selection/top_k.h"

namespace palimpsest::engine {

namespace {

constexpr PoolingDefault pooling{.pooling = Pooling::Max, .kernel = 7};

PolicyParts compose(PolicyParameters& parameters, const PolicyContext& context)
{
    const WindowFrame frame = read_window(parameters, context, 8);
    const Shaping shaping = read_pooling(parameters, pooling);
    auto layers = read_allocation(parameters, context, frame.basis());
    std::unique_ptr<Selection> selection = std::make_unique<TopK>();
    if (parameters.flag("nested", false)) selection = std::make_unique<NestedTopK>();
    return {.budget = read_heads(parameters, context, frame.basis(), std::move(layers)),
            .signal = frame.mean(),
            .shaping = shaping,
            .selection = std::move(selection),
            .ends = frame.ends,
            .positions = PositionMode::Original};
}

} // namespace

NamedPolicy pyramidkv_policy()
{
    PolicyInfo info{.name = "pyramidkv",
                    .keeps = "What the newest tokens attend to, more of it in the lower layers, where attention is "
                             "spread out.",
                    .signals =
                        "attention of the last `window` queries; with an observed allocation, how spread out "
                        "it is",
                    .cost = "an attention pass over the window of each chunk",
                    .positions = original_within_context,
                    .paper = "PyramidKV: Dynamic KV Cache Compression based on Pyramidal Information Funneling; "
                             "as its authors cut a prompt: pyramidkv:schedule=once",
                    .parameters = window_infos(8)};
    add_pooling_infos(info.parameters, pooling);
    add_allocation_infos(info.parameters);
    info.parameters.push_back({.key = "nested",
                               .meaning = "a layer keeps only what the same head of the layer below keeps, too",
                               .default_text = "false",
                               .range = "true, false"});
    add_head_infos(info.parameters);
    return {.info = std::move(info), .compose = compose};
}

} // namespace palimpsest::engine
