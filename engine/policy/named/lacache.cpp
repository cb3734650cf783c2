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

Settings read(PolicyParameters& parameters, const PolicyContext& context)
{
    Settings read;
    read.pattern = parameters.choice<Pattern>("pattern", {{"stacked", Pattern::Stacked},
                                                          {"ladder", Pattern::Ladder},
                                                          {"reverse", Pattern::Reverse},
                                                          {"even", Pattern::Even},
                                                          {"recent", Pattern::Recent},
                                                          {"old", Pattern::Old}});
    read.ends.sinks = parameters.whole("sinks", 4);
    read.ends.recent = parameters.whole("recent", read.is_ladder() ? context.layers : 1);
    read.shape = {.layers = context.layers,
                  .span = parameters.whole("span", context.layers / 2),
                  .overlap = parameters.whole("overlap", 0)};
    read.compensate = parameters.flag("compensate", false);
    read.scored = parameters.choice<bool>("survivors", {{"offsets", false}, {"score", true}});
    if (read.scored && !read.is_ladder())
        parameters.refuse("survivors=score needs tiles, and the patterns recent and old have none",
                          "leave survivors out, or choose another pattern");
    if (read.scored) parameters.refuse_idle({"pattern"}, "with survivors=score");
    return read;
}

std::string ends_text(const ProtectedEnds& ends)
{
    return "sinks=" + std::to_string(ends.sinks) + " and recent=" + std::to_string(ends.recent);
}

void check_shape(const PolicyParameters& parameters, const LadderShape& shape)
{
    const std::string span = "span=" + std::to_string(shape.span);
    const std::string overlap = "overlap=" + std::to_string(shape.overlap);
    if (shape.span >= shape.layers) {
        parameters.refuse(span + " is not below the model's " + std::to_string(shape.layers) + " layers",
                          "choose a span from 1 to one less than the layers");
    }
    if (shape.overlap >= shape.span) {
        parameters.refuse(overlap + " is not below " + span, "choose an overlap from 0 to one less than the span");
    }
    if (shape.removed() < 1) {
        parameters.refuse(span + " with " + overlap + " keeps all " + std::to_string(shape.tile()) +
                              " tokens of a tile in every layer of " + std::to_string(shape.layers),
                          "lower the span or the overlap");
    }
}

void check_room(const PolicyParameters& parameters, const Settings& settings, int32_t budget)
{
    const int32_t kept = settings.shape.kept();
    const int64_t slots = settings.ends.slots(budget);
    if (slots < kept) {
        parameters.refuse(ends_text(settings.ends) + " leave " + std::to_string(std::max<int64_t>(slots, 0)) +
                              " slots in a budget of " + std::to_string(budget) + " tokens, and a tile keeps " +
                              std::to_string(kept),
                          "raise the budget, or lower sinks or recent");
    }
    const int32_t reserve = settings.shape.removed() - 1;
    if (settings.ends.recent < reserve) {
        parameters.refuse("recent=" + std::to_string(settings.ends.recent) + " is less than the " +
                              std::to_string(reserve) + " tokens a tile may reach behind its region",
                          "raise recent to at least " + std::to_string(reserve));
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

// The ablations without tiles: keep the newest tokens, or the oldest and the `recent` newest.
PolicyParts compose_ends(PolicyParameters& parameters, const Settings& settings, const PolicyContext& context)
{
    const int32_t budget = context.budget;
    const bool old = settings.pattern == Pattern::Old;
    // The newest tokens fill the slots beside the sinks; with pattern=old, the oldest fill those beside the recent
    // ones.
    const std::string filled = old ? "sinks" : "recent", named = old ? "recent" : "sinks";
    parameters.refuse_idle({"span", "overlap", "compensate", "survivors", filled},
                           old ? "with pattern=old" : "with pattern=recent");
    const int32_t end = old ? settings.ends.recent : settings.ends.sinks;
    if (end > budget) {
        parameters.refuse(named + "=" + std::to_string(end) + " does not fit a budget of " +
                              std::to_string(budget) + " tokens",
                          "raise the budget or lower " + named);
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
    return {
        .info = {.name = "lacache",
                 .keeps = "Different tokens in different layers, like the rungs of a ladder: together the layers "
                          "reach further back.",
                 .signals = "none; attention of all queries with survivors=score",
                 .cost = "no attention pass beyond plain attention; a second one with survivors=score",
                 .positions = "contiguous",
                 .paper = "LaCache: Ladder-Shaped KV Caching",
                 .parameters = {{.key = "sinks",
                                 .meaning = "first tokens, always kept",
                                 .default_text = "4",
                                 .range = "0 and more"},
                                {.key = "recent",
                                 .meaning = "newest tokens that no tile starts in",
                                 .default_text = "layers; 1 for patterns old and recent",
                                 .range = "0 and more"},
                                {.key = "span",
                                 .meaning = "layers that hold a token",
                                 .default_text = "layers/2",
                                 .range = "1 to layers - 1"},
                                {.key = "overlap",
                                 .meaning = "layers that consecutive steps of the ladder share",
                                 .default_text = "0",
                                 .range = "0 to span - 1"},
                                {.key = "pattern",
                                 .meaning = "which layers hold which tokens",
                                 .default_text = "stacked",
                                 .range = "stacked, ladder, reverse, even, recent, old"},
                                {.key = "survivors",
                                 .meaning =
                                     "who stays of a tile: each layer's offsets, or the tokens with the most "
                                     "attention per query",
                                 .default_text = "offsets",
                                 .range = "offsets, score"},
                                {.key = "compensate",
                                 .meaning = "exceed the budget by half a tile's loss, so that it is met on average",
                                 .default_text = "false",
                                 .range = "true, false"}}},
        .compose = compose};
}

} // namespace palimpsest::engine
