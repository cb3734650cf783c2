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
    parameters.refuse_idle_without({"average"}, "representative=avg");
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
        const std::string chosen = "representative=" + parameters.resolved().parameters.at("representative");
        parameters.refuse_idle_with({"block", "rounds"}, chosen);
        if (*representative != Representative::Max && !budget->needs_signals())
            parameters.refuse_idle_with({"renormalise"}, chosen); // the kept entry depends on its place alone
        selection = read_representatives(parameters, *representative);
    } else {
        parameters.refuse_idle_without({"average"}, "representative=avg");
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
                    .keeps = Text("Keeps whole blocks of text that the newest queries attend to: half of them the "
                                  "best of the whole text, half the best of each of eight stretches."),
                    .signals = Text("attention of the last `window` queries"),
                    .cost = cost_of_window(),
                    .positions = original_within_context(),
                    .prefers_original = true,
                    .paper = Text("{0}; as in its equation 3: {1}",
                                  "Training-Free Native Sparse Attention for KV Cache Compression",
                                  "hbw-kv:renormalise=true,schedule=once"),
                    .parameters = window_infos(32)};
    info.parameters.push_back({.key = "block",
                               .meaning = Text("number of tokens in a block"),
                               .default_text = Text::verbatim("max(1, budget/32)"),
                               .range = at_least(1)});
    info.parameters.push_back(
        {.key = "rounds",
         .meaning = Text("the rounds in which blocks are chosen: for each, into how many stretches it divides the "
                         "text"),
         .default_text = Text::verbatim("1+8"),
         .range = Text("numbers of at least {0}, separated by +", 1)});
    info.parameters.push_back(
        flag_info("renormalise", Text("whether attention is normalised over all tokens but the recent ones")));
    info.parameters.push_back(
        choice_info("representative",
                    Text("if not none: keep one token of each of budget - sinks - recent stretches instead of "
                         "blocks: the first, the last, the one with the highest score, or the mean of all"),
                    {"none", "first", "last", "max", "avg"}));
    info.parameters.push_back(
        choice_info("average",
                    Text("with representative=avg: whether keys are averaged before or after they are rotated to "
                         "their positions"),
                    {"raw", "rotated"}));
    add_budget_infos(info.parameters);
    return {.info = std::move(info), .compose = compose};
}

} // namespace palimpsest::engine
