#include "engine/policy/named/named_policy.h"
#include "engine/policy/named/tree_parameters.h"
#include "engine/policy/selection/block_pairs.h"

namespace palimpsest::engine {

namespace {

PolicyParts compose(PolicyParameters& parameters, const PolicyContext& context)
{
    const int32_t unit = parameters.positive("unit", 16);
    ProtectedEnds ends{.sinks = parameters.whole("sinks", 0), .recent = parameters.whole("recent", unit)};
    const bool by_score = parameters.choice<bool>("rule", {{"score", true}, {"left", false}});
    if (ends.recent < unit - 1)
        parameters.refuse(Text("recent={0} is less than the {1} tokens that a block may reach into the recent ones",
                               ends.recent, unit - 1),
                          Text("raise recent to at least {0}", unit - 1));
    const auto slots = static_cast<int32_t>(require_slots(parameters, context, ends, unit));
    ends.recent += slots % unit; // slots that make no whole block become recent tokens
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
    PolicyInfo info{
        .name = "treekv-block",
        .keeps =
            Text("Keeps the block with the higher score of each pair of neighbouring blocks, in cycles from the "
                 "oldest pair to the newest."),
        .signals = Text("attention of the last `unit` queries; none with rule=left"),
        .cost = Text("an attention pass over the last `unit` queries of each chunk; none with rule=left"),
        .positions = Text("contiguous"),
        .paper = Text::verbatim(treekv_title),
        .parameters = {{.key = "sinks",
                        .meaning = Text("first tokens, always kept"),
                        .default_text = Text::verbatim("0"),
                        .range = range_of("0", "budget - recent - unit")},
                       {.key = "recent",
                        .meaning = Text("newest tokens, always kept except that the last block may reach into the "
                                        "oldest unit - 1 of them"),
                        .default_text = Text::verbatim("unit"),
                        .range = range_of("unit - 1", "budget - sinks - unit")},
                       {.key = "unit",
                        .meaning = Text("number of tokens in a block"),
                        .default_text = Text::verbatim("16"),
                        .range = at_least(1)}}};
    info.parameters.push_back(choice_info(
        "rule", Text("which of two blocks is kept: the one with the higher score, or always the left one"),
        {"score", "left"}));
    return {.info = std::move(info), .compose = compose};
}

} // namespace palimpsest::engine
