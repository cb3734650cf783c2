#include "engine/policy/named/named_policy.h"
#include "engine/policy/named/window_parameters.h"
#include "engine/policy/selection/top_k.h"

namespace palimpsest::engine {

namespace {

constexpr BudgetAxis axis{.by_head = false};

PolicyParts compose(PolicyParameters& parameters, const PolicyContext& context)
{
    const ProtectedEnds ends{.sinks = parameters.whole("sinks", 0), .recent = parameters.whole("recent", 0)};
    const int64_t slots = require_slots(parameters, context, ends);
    return {.budget = read_budget(parameters, context, {.ends = ends, .slots = slots, .window = 1, .axis = axis}),
            .signal = {.kind = ScoreKind::Total, .window = 1},
            .shaping = {.layer_mean = true},
            .selection = std::make_unique<TopK>(),
            .ends = ends,
            .positions = PositionMode::Original};
}

} // namespace

NamedPolicy tova_policy()
{
    PolicyInfo info{.name = "tova",
                    .keeps = Text("Keeps the tokens that the newest query attends to most, the same ones in all "
                                  "heads of a layer."),
                    .signals = Text("attention of the newest query"),
                    .cost = Text("an attention pass over the last query of each chunk"),
                    .positions = original_within_context(),
                    .prefers_original = true,
                    .paper = Text::verbatim("TOVA (arXiv 2401.06104)"),
                    .parameters = {sinks_info(), recent_info("0")}};
    add_budget_infos(info.parameters, axis);
    return {.info = std::move(info), .compose = compose};
}

} // namespace palimpsest::engine
