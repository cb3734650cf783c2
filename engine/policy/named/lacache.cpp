#include <algorithm>

#include "engine/policy/named/budget_parameters.h"
#include "engine/policy/named/named_policy.h"
#include "engine/policy/selection/cyclic_tile.h"
#include "engine/policy/selection/ladder.h"
#include "engine/policy/selection/prefix_suffix.h"
#include "engine/policy/selection/tile_selection.h"

namespace palimpsest::engine {

namespace {

enum class Pattern : uint8_t { Stacked, Ladder, Reverse, Even, Recent, Old };

struct Settings {
    Pattern pattern = Pattern::Stacked;
    ProtectedEnds ends;
    LadderShape shape;
    bool compensate = false;
    bool scored = false; // keeps the best entries of a tile instead of fixed offsets

    bool is_ladder() const { return pattern != Pattern::Recent && pattern != Pattern::Old; }
};

Choices<Pattern> patterns()
{
    return {{"stacked", Pattern::Stacked}, {"ladder", Pattern::Ladder}, {"reverse", Pattern::Reverse},
            {"even", Pattern::Even},       {"recent", Pattern::Recent}, {"old", Pattern::Old}};
}

Settings read(PolicyParameters& parameters, const PolicyContext& context)
{
    Settings read;
    read.pattern = parameters.choice("pattern", patterns());
    read.ends.sinks = parameters.whole("sinks", 4);
    read.ends.recent = parameters.whole("recent", read.is_ladder() ? context.layers : 1);
    read.shape = {.layers = context.layers,
                  .span = parameters.whole("span", context.layers / 2),
                  .overlap = parameters.whole("overlap", 0)};
    read.compensate = parameters.flag("compensate", false);
    read.scored = parameters.choice<bool>("survivors", {{"offsets", false}, {"score", true}});
    if (read.scored && !read.is_ladder())
        parameters.refuse(Text("survivors=score needs tiles, and the patterns recent and old have none"),
                          Text("leave survivors out, or choose another pattern"));
    if (read.scored) parameters.refuse_idle_with({"pattern"}, "survivors=score");
    return read;
}

void check_shape(const PolicyParameters& parameters, const LadderShape& shape)
{
    const std::string span = "span=" + std::to_string(shape.span);
    const std::string overlap = "overlap=" + std::to_string(shape.overlap);
    if (shape.span >= shape.layers) {
        parameters.refuse(Text("{0} is not below the model's {1} layers", span, shape.layers),
                          Text("choose a span from 1 to one less than the layers"));
    }
    if (shape.overlap >= shape.span) {
        parameters.refuse(Text("{0} is not below {1}", overlap, span),
                          Text("choose an overlap from 0 to one less than the span"));
    }
    if (shape.removed() < 1) {
        parameters.refuse(Text("{0} with {1} keeps all {2} tokens of a tile in every layer of {3}", span, overlap,
                               shape.tile(), shape.layers),
                          Text("lower the span or the overlap"));
    }
}

void check_room(const PolicyParameters& parameters, const Settings& settings, int32_t budget)
{
    const int32_t kept = settings.shape.kept();
    const int64_t slots = settings.ends.slots(budget);
    if (slots < kept) {
        parameters.refuse(
            Text("sinks={0} and recent={1} leave {2} slots in a budget of {3} tokens, and a tile keeps {4}",
                 settings.ends.sinks, settings.ends.recent, std::max<int64_t>(slots, 0), budget, kept),
            Text("raise the budget, or lower sinks or recent"));
    }
    const int32_t reserve = settings.shape.removed() - 1;
    if (settings.ends.recent < reserve) {
        parameters.refuse(Text("recent={0} is less than the {1} tokens that a tile may reach into the recent ones",
                               settings.ends.recent, reserve),
                          Text("raise recent to at least {0}", reserve));
    }
}

LadderPattern ladder_pattern(Pattern pattern)
{
    switch (pattern) {
    case Pattern::Ladder:
        return LadderPattern::Ladder;
    case Pattern::Reverse:
        return LadderPattern::Reverse;
    case Pattern::Even:
        return LadderPattern::Even;
    default:
        return LadderPattern::Stacked;
    }
}

// The paper's ablations without tiles: pattern=recent keeps sinks and the newest tokens, pattern=old the oldest
// tokens and the `recent` newest.
PolicyParts compose_ends(PolicyParameters& parameters, const Settings& settings, const PolicyContext& context)
{
    const int32_t budget = context.budget;
    const bool old = settings.pattern == Pattern::Old;
    // The newest tokens fill the slots beside the sinks; with pattern=old, the oldest fill those beside the recent
    // ones.
    const std::string filled = old ? "sinks" : "recent", named = old ? "recent" : "sinks";
    parameters.refuse_idle_with({"span", "overlap", "compensate", "survivors", filled},
                                old ? "pattern=old" : "pattern=recent");
    const int32_t end = old ? settings.ends.recent : settings.ends.sinks;
    if (end > budget) {
        parameters.refuse(Text("{0}={1} does not fit a budget of {2} tokens", named, end, budget),
                          Text("raise the budget or lower {0}", named));
    }
    const ProtectedEnds ends{.sinks = old ? 0 : end, .recent = old ? end : 0};
    return {.budget = FixedBudget::uniform(context, budget - end),
            .selection = std::make_unique<PrefixSuffix>(old ? budget - end : end),
            .ends = ends};
}

// Cyclic tiles, of which fixed offsets or the best entries are kept.
PolicyParts compose(PolicyParameters& parameters, const PolicyContext& context)
{
    require_budget(parameters, context);
    const Settings settings = read(parameters, context);
    if (!settings.is_ladder()) return compose_ends(parameters, settings, context);

    const LadderShape& shape = settings.shape;
    check_shape(parameters, shape);
    // As in the authors' code: list sizes vary between c - R and c, so adding R/2 makes their average the nominal
    // budget.
    const int32_t budget = context.budget + (settings.compensate ? shape.removed() / 2 : 0);
    check_room(parameters, settings, budget);

    const TileShape tile{.size = static_cast<uint32_t>(shape.tile()), .kept = static_cast<uint32_t>(shape.kept())};
    const int64_t slots = settings.ends.slots(budget);
    auto tiles =
        std::make_unique<CyclicTile>(static_cast<size_t>(context.layers), static_cast<int32_t>(slots), tile);
    std::shared_ptr<const TileRule> tile_rule;
    if (settings.scored)
        tile_rule = std::make_shared<BestOfTile>(tile.kept);
    else
        tile_rule = std::make_shared<FixedOffsets>(kept_offsets(shape, ladder_pattern(settings.pattern)));
    const Signal mean{.kind = ScoreKind::Mean, .window = SignalNeeds::all};
    return {.budget = FixedBudget::uniform(context, slots),
            .signal = settings.scored ? mean : Signal{},
            .selection =
                std::make_unique<TileSelection>(std::move(tiles), std::move(tile_rule), SchedulePer::PerLayer),
            .ends = settings.ends,
            .positions = PositionMode::Contiguous};
}

} // namespace

NamedPolicy lacache_policy()
{
    PolicyInfo info{
        .name = "lacache",
        .keeps = Text("Keeps different tokens in different layers, like the rungs of a ladder, so that the layers "
                      "together reach further back."),
        .signals = Text("none; attention of all queries with survivors=score"),
        .cost = Text("nothing beyond the model's own attention; with survivors=score a second attention pass over "
                     "each chunk"),
        .positions = Text("contiguous"),
        .paper = Text::verbatim("LaCache: Ladder-Shaped KV Caching"),
        .parameters = {{.key = "sinks",
                        .meaning = Text("first tokens, always kept; not with pattern=old"),
                        .default_text = Text::verbatim("4"),
                        .range = at_least(0)},
                       {.key = "recent",
                        .meaning = Text("newest tokens, always kept except that the last tile may reach into the "
                                        "oldest of them; not with pattern=recent"),
                        .default_text = Text("the number of layers; 1 with pattern=old"),
                        .range = at_least(0)},
                       {.key = "span",
                        .meaning = Text("number of layers that hold a token"),
                        .default_text = Text::verbatim("layers/2"),
                        .range = range_of("1", "layers - 1")},
                       {.key = "overlap",
                        .meaning = Text("number of layers that consecutive steps of the ladder share"),
                        .default_text = Text::verbatim("0"),
                        .range = range_of("0", "span - 1")}}};
    info.parameters.push_back(choice_info("pattern", Text("which layers hold which tokens"), names_of(patterns())));
    info.parameters.push_back(choice_info(
        "survivors",
        Text("which tokens of a tile are kept: those at the layer's own offsets, or those with the most "
             "attention per query"),
        {"offsets", "score"}));
    info.parameters.push_back(flag_info(
        "compensate",
        Text("whether the budget is exceeded by half of what a tile evicts, so that it is met on average")));
    return {.info = std::move(info), .compose = compose};
}

} // namespace palimpsest::engine
