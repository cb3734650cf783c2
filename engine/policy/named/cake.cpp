#include "engine/policy/budgets/layer_bids.h"
#include "engine/policy/named/named_policy.h"
#include "engine/policy/named/window_parameters.h"
#include "engine/policy/selection/top_k.h"

namespace palimpsest::engine {

namespace {

constexpr PoolingDefault pooling{.pooling = Pooling::Average, .kernel = 5};

// Equal weights for all layers, with window=1: a single query has no variance.
class EqualWeights final : public LayerWeight {
public:
    void add_needs(SignalNeeds&) const override {}
    double log_weight(std::span<const ListCut>, const LayerObservation&) const override { return 0; }
};

std::shared_ptr<const LayerWeight> read_preference(PolicyParameters& parameters, int32_t window)
{
    const double tau1 = parameters.number("tau1", 1, 0.01, 100), tau2 = parameters.number("tau2", 1, 0.01, 100);
    if (window > 1) return std::make_shared<Preference>(tau1, tau2);
    parameters.refuse_idle_with({"tau1", "tau2"}, "window=1");
    return std::make_shared<EqualWeights>();
}

PolicyParts compose(PolicyParameters& parameters, const PolicyContext& context)
{
    const WindowFrame frame = read_window(parameters, context, 32);
    const Shaping shaping = read_pooling(parameters, pooling);
    const double gamma = parameters.number("gamma", 200, 0, 1e9);
    if (frame.window == 1) parameters.refuse_idle_with({"gamma"}, "window=1");
    auto layers = std::make_unique<LayerWeightsBudget>(LayerWeightsBudget::Sizes{.layers = context.layers,
                                                                                 .kv_heads = context.kv_heads,
                                                                                 .mean = frame.slots,
                                                                                 .most = 2 * frame.slots,
                                                                                 .window = frame.window},
                                                       read_preference(parameters, frame.window));
    return {.budget = read_heads(parameters, context, frame.basis(), std::move(layers)),
            .signal = {.kind = ScoreKind::MeanVariance, .window = frame.window, .gamma = gamma},
            .shaping = shaping,
            .selection = std::make_unique<TopK>(),
            .ends = frame.ends,
            .positions = PositionMode::Original};
}

} // namespace

NamedPolicy cake_policy()
{
    PolicyInfo info{.name = "cake",
                    .keeps =
                        Text("Keeps the tokens that the newest queries attend to strongly or with changing "
                             "strength; layers whose attention is spread out and shifts get more of the budget."),
                    .signals = Text("attention of the last `window` queries and its square, for each query head, "
                                    "and its entropy"),
                    .cost = Text("an attention pass over the last `window` queries of each chunk, with squares and "
                                 "logarithms"),
                    .positions = original_within_context(),
                    .prefers_original = true,
                    .paper = Text::verbatim("CAKE (arXiv 2503.12491)"),
                    .parameters = window_infos(32)};
    add_pooling_infos(info.parameters, pooling);
    info.parameters.push_back({.key = "gamma",
                               .meaning = Text("weight of the variance of attention, which is added to its mean"),
                               .default_text = Text::verbatim("200"),
                               .range = range_of("0", "1000000000")});
    info.parameters.push_back({.key = "tau1",
                               .meaning = Text("temperature of the entropy in a layer's share of the budget"),
                               .default_text = Text::verbatim("1"),
                               .range = range_of("0.01", "100")});
    info.parameters.push_back({.key = "tau2",
                               .meaning = Text("temperature of the variance in a layer's share of the budget"),
                               .default_text = Text::verbatim("1"),
                               .range = range_of("0.01", "100")});
    add_head_infos(info.parameters);
    return {.info = std::move(info), .compose = compose};
}

} // namespace palimpsest::engine
