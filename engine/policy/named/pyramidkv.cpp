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
    // The slots of each layer: layer_profile in engine/policy/budgets/fixed_budget.cpp, or budgets/layer_bids.h.
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
                    .keeps = Text("Keeps the tokens that the newest queries attend to, and more of them in the "
                                  "lower layers, where attention is spread out."),
                    .signals = Text("attention of the last `window` queries; also how concentrated it is if the "
                                    "allocation depends on that"),
                    .cost = cost_of_window(),
                    .positions = original_within_context(),
                    .prefers_original = true,
                    .paper =
                        Text("{0}; as its authors cut a prompt: {1}",
                             "PyramidKV: Dynamic KV Cache Compression based on Pyramidal Information Funneling",
                             "pyramidkv:schedule=once"),
                    .parameters = window_infos(8)};
    add_pooling_infos(info.parameters, pooling);
    add_allocation_infos(info.parameters);
    info.parameters.push_back(flag_info(
        "nested", Text("whether a layer keeps only tokens that the same head of the layer below keeps, too")));
    add_head_infos(info.parameters);
    return {.info = std::move(info), .compose = compose};
}

} // namespace palimpsest::engine
