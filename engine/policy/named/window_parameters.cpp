#include "engine/policy/named/window_parameters.h"

#include <algorithm>

namespace palimpsest::engine {

ParameterInfo sinks_info(const std::string& default_text)
{
    return {.key = "sinks",
            .meaning = Text("first tokens, always kept"),
            .default_text = Text::verbatim(default_text),
            .range = range_of("0", "budget - recent - 1")};
}

ParameterInfo recent_info(const std::string& default_text)
{
    return {.key = "recent",
            .meaning = Text("newest tokens, always kept"),
            .default_text = Text::verbatim(default_text),
            .range = range_of("0", "budget - sinks - 1")};
}

ParameterInfo window_info(int32_t window)
{
    return {.key = "window",
            .meaning = Text("number of newest queries whose attention counts"),
            .default_text = Text::verbatim(std::to_string(window)),
            .range = at_least(1)};
}

std::vector<ParameterInfo> half_ends_infos()
{
    return {sinks_info("4"), recent_info("max(0, budget/2 - sinks)")};
}

std::vector<ParameterInfo> window_infos(int32_t window)
{
    return {sinks_info(), window_info(window), recent_info("window")};
}

void add_pooling_infos(std::vector<ParameterInfo>& infos, PoolingDefault otherwise)
{
    infos.push_back(
        {.key = "kernel",
         .meaning = Text("number of neighbouring tokens, the token itself included, over which scores are "
                         "pooled"),
         .default_text = Text::verbatim(std::to_string(otherwise.kernel)),
         .range = Text("odd numbers of {0} or more", 1)});
    infos.push_back(choice_info(
        "pooling", Text("how scores are pooled, so that the neighbours of a peak are kept together with it"),
        {"avg", "max", "none"}, otherwise.pooling == Pooling::Max ? "max" : "avg"));
}

ProtectedEnds read_half_ends(PolicyParameters& parameters, const PolicyContext& context)
{
    require_budget(parameters, context);
    const int32_t sinks = parameters.whole("sinks", 4);
    return {.sinks = sinks, .recent = parameters.whole("recent", std::max(0, context.budget / 2 - sinks))};
}

WindowFrame read_window(PolicyParameters& parameters, const PolicyContext& context, int32_t window)
{
    WindowFrame frame;
    frame.ends.sinks = parameters.whole("sinks", 0);
    frame.window = parameters.positive("window", window);
    frame.ends.recent = parameters.whole("recent", frame.window);
    frame.slots = require_slots(parameters, context, frame.ends);
    return frame;
}

Shaping read_pooling(PolicyParameters& parameters, PoolingDefault otherwise)
{
    Shaping shaping;
    shaping.kernel = parameters.positive("kernel", otherwise.kernel);
    if (shaping.kernel % 2 == 0)
        parameters.refuse_value(Text("{0} is even, and a centred kernel is odd", parameters.pair("kernel")),
                                Text("give an odd number such as {0}", 5));
    const std::pair<std::string, Pooling> average{"avg", Pooling::Average}, max{"max", Pooling::Max};
    const bool is_max = otherwise.pooling == Pooling::Max;
    shaping.pooling = parameters.choice<Pooling>(
        "pooling", {is_max ? max : average, is_max ? average : max, {"none", Pooling::None}});
    if (shaping.pooling == Pooling::None) parameters.refuse_idle_with({"kernel"}, "pooling=none");
    return shaping;
}

} // namespace palimpsest::engine
