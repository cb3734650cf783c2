#include "engine/policy/named/named_policy.h"
#include "engine/policy/named/window_parameters.h"
#include "engine/policy/selection/block_pairs.h"

namespace palimpsest::engine {

namespace {

PolicyParts compose(PolicyParameters& parameters, const PolicyContext& context)
{
    const int32_t unit = parameters.positive("unit", 16);
    ProtectedEnds ends{.sinks = parameters.whole("sinks", 0), .recent = parameters.whole("recent", unit)};
    const bool by_score = parameters.choice<bool>("rule", {{"score", true}, {"left", false}});
    if (ends.recent < unit - 1)
        parameters.refuse("recent=" + std::to_string(ends.recent) + " is less than the " +
                              std::to_string(unit - 1) + " tokens a block may reach behind its region",
                          "raise recent to at least " + std::to_string(unit - 1));
    const auto slots = static_cast<int32_t>(require_slots(parameters, context, ends, unit));
    ends.recent += slots % unit; // so that exactly the budget is used
    const int32_t whole = slots - slots % unit;
    const Signal mean{.kind = ScoreKind::Mean, .window = unit};
    return {.budget = FixedBudget::uniform(context, whole),
            .signal = by_score ? mean : Signal{},
            .selection = std::make_unique<BlockPairs>(context.layers, unit, whole, by_score),
            .ends = ends,
            .positions = PositionMode::Contiguous};
}

} // namespace

NamedPolicy treekv_block_policy()
{
    return {
        .info = {.name = "treekv-block",
                 .keeps = "Of two neighbouring blocks the more important, pair by pair from old to new.",
                 .signals = "attention of the last `unit` queries; none with rule=left",
                 .cost = "an attention pass over the last block of each chunk",
                 .positions = "contiguous",
                 .paper = "TreeKV: Smooth Key-Value Cache Compression with Tree Structures",
                 .parameters =
                     {sinks_info(),
                      {.key = "recent",
                       .meaning = "newest tokens, always kept but for the newest unit - 1",
                       .default_text = "unit",
                       .range = "unit - 1 to c - sinks - unit"},
                      {.key = "unit", .meaning = "tokens of a block", .default_text = "16", .range = "1 and more"},
                      {.key = "rule",
                       .meaning = "which block stays: the higher score, or always the left",
                       .default_text = "score",
                       .range = "score, left"}}},
        .compose = compose};
}

} // namespace palimpsest::engine
