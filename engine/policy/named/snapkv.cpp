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
    PolicyInfo info{
        .name = "snapkv",
        .keeps = Text("Keeps the tokens that the newest queries attend to, with the neighbours of every "
                      "peak."),
        .signals = Text("attention of the last `window` queries"),
        .cost = cost_of_window(),
        .positions = original_within_context(),
        .prefers_original = true,
        .paper = Text("{0}; as its authors cut a prompt: {1}", "SnapKV (arXiv 2404.14469)", "snapkv:schedule=once"),
        .parameters = window_infos(32)};
    add_pooling_infos(info.parameters, pooling);
    add_budget_infos(info.parameters);
    return {.info = std::move(info), .compose = compose};
}

} // namespace palimpsest::engine
