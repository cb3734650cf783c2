#include "engine/policy/named/window_parameters.h"

namespace palimpsest::engine {

ParameterInfo sinks_info(const std::string& default_text)
{
    return {.key = "sinks",
            .meaning = "first tokens, always kept",
            .default_text = default_text,
            .range = "0 to c - recent - 1"};
}

std::vector<ParameterInfo> window_infos(int32_t window)
{
    return {sinks_info(),
            {.key = "window",
             .meaning = "newest tokens whose attention counts",
             .default_text = std::to_string(window),
             .range = "1 and more"},
            {.key = "recent",
             .meaning = "newest tokens, always kept",
             .default_text = "window",
             .range = "0 to c - sinks - 1"}};
}

void add_pooling_infos(std::vector<ParameterInfo>& infos, PoolingDefault otherwise)
{
    infos.push_back({.key = "kernel",
                     .meaning = "neighbours, the token included, over which scores are pooled",
                     .default_text = std::to_string(otherwise.kernel),
                     .range = "odd, 1 and more"});
    infos.push_back({.key = "pooling",
                     .meaning = "how scores are pooled, so that neighbours of a peak survive with it",
                     .default_text = otherwise.pooling == Pooling::Max ? "max" : "avg",
                     .range = "avg, max, none"});
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
        parameters.refuse_value("kernel", "is even, and a centred kernel is odd", "give an odd number such as 5");
    const std::pair<std::string, Pooling> average{"avg", Pooling::Average}, max{"max", Pooling::Max};
    const bool is_max = otherwise.pooling == Pooling::Max;
    shaping.pooling = parameters.choice<Pooling>(
        "pooling", {is_max ? max : average, is_max ? average : max, {"none", Pooling::None}});
    if (shaping.pooling == Pooling::None) parameters.refuse_idle({"kernel"}, "with pooling=none");
    return shaping;
}

} // namespace palimpsest::engine
