#include <optional>

#include "engine/policy/named/named_policy.h"
#include "engine/policy/named/window_parameters.h"
#include "engine/policy/selection/grouped_blocks.h"
#include "engine/policy/selection/representatives.h"

namespace palimpsest::engine {

namespace {

std::optional<Representative> read_representative(PolicyParameters& parameters)
{
    using Choice = std::optional<Representative>;
    return parameters.choice<Choice>("representative", {{"none", Choice()},
                                                        {"first", Representative::First},
                                                        {"last", Representative::Last},
                                                        {"max", Representative::Max},
                                                        {"avg", Representative::Average}});
}

std::unique_ptr<Selection> read_representatives(PolicyParameters& parameters, Representative kind)
{
    if (kind == Representative::Average) {
        const auto keys =
            parameters.choice<KeyMean>("average", {{"raw", KeyMean::Raw}, {"rotated", KeyMean::Rotated}});
        return std::make_unique<Representatives>(kind, keys);
    }
    parameters.refuse_idle({"average"}, "without representative=avg");
    return std::make_unique<Representatives>(kind);
}

PolicyParts compose(PolicyParameters& parameters, const PolicyContext& context)
{
    const WindowFrame frame = read_window(parameters, context, 32);
    const auto representative = read_representative(parameters);
    Signal signal = frame.mean();
    if (parameters.flag("renormalise", false)) signal.outside_newest = frame.ends.recent;
    const int32_t block = parameters.positive("block", std::max(1, context.budget / 32));
    auto rounds = parameters.list("rounds", "1+8");
    auto budget = read_budget(parameters, context, frame.basis());
    std::unique_ptr<Selection> selection;
    if (representative) {
        const std::string chosen = "with representative=" + parameters.resolved().parameters.at("representative");
        parameters.refuse_idle({"block", "rounds"}, chosen);
        if (*representative != Representative::Max && !budget->needs_signals())
            parameters.refuse_idle({"renormalise"}, chosen); // the kept entry depends on its place alone
        selection = read_representatives(parameters, *representative);
    } else {
        parameters.refuse_idle({"average"}, "without representative=avg");
        selection = std::make_unique<GroupedBlocks>(block, std::move(rounds));
    }
    return {.budget = std::move(budget),
            .signal = signal,
            .selection = std::move(selection),
            .ends = frame.ends,
            .positions = PositionMode::Original};
}

} // namespace

NamedPolicy hbw_kv_policy()
{
    PolicyInfo info{.name = "hbw-kv",
                    .keeps =
                        "Whole blocks of text that the newest tokens attend to, half of them the best anywhere "
                        "and half the best of eight stretches.",
                    .signals = "attention of the last `window` queries",
                    .cost = "an attention pass over the window of each chunk",
                    .positions = original_within_context,
                    .paper = "Training-Free Native Sparse Attention for KV Cache Compression; as in its eq. 3: "
                             "hbw-kv:renormalise=true,schedule=once",
                    .parameters = window_infos(32)};
    info.parameters.push_back(
        {.key = "block", .meaning = "tokens of a block", .default_text = "max(1, c/32)", .range = "1 and more"});
    info.parameters.push_back({.key = "rounds",
                               .meaning =
                                   "rounds of choosing, and into how many stretches each of them divides the "
                                   "text",
                               .default_text = "1+8",
                               .range = "numbers of at least 1 with + between them"});
    info.parameters.push_back({.key = "renormalise",
                               .meaning = "normalise attention over all but the recent tokens",
                               .default_text = "false",
                               .range = "true, false"});
    info.parameters.push_back(
        {.key = "representative",
         .meaning = "instead of blocks in rounds, one token for each of c - sinks - recent stretches",
         .default_text = "none",
         .range = "none, first, last, max, avg"});
    info.parameters.push_back({.key = "average",
                               .meaning = "with representative=avg: the mean of keys before their rotation to "
                                          "positions, or after",
                               .default_text = "raw",
                               .range = "raw, rotated"});
    add_budget_infos(info.parameters);
    return {.info = std::move(info), .compose = compose};
}

} // namespace palimpsest::engine
