#include "engine/policy/named/schedule.h"

namespace palimpsest::engine {

namespace {

constexpr int32_t excess_limit = 1 << 24;
constexpr std::string_view every = "every:";

} // namespace

ParameterInfo schedule_info()
{
    return {.key = "schedule",
            .meaning =
                Text("when lists are cut back to the budget: after every chunk, as soon as one holds N entries "
                     "too many, or once, at the end of the first text (memory grows with that text and with "
                     "everything after it)"),
            .default_text = Text::verbatim("chunk"),
            .range = Text("chunk, once, or every:N with N from {0} to {1}", 1, excess_limit)};
}

EvictionSchedule read_schedule(PolicyParameters& parameters)
{
    const std::string text = parameters.text("schedule", "chunk");
    if (text == "chunk") return {};
    if (text == "once") return {.excess = 1, .once = true};
    if (text.starts_with(every)) {
        const auto excess = parse_whole(std::string_view(text).substr(every.size()));
        if (excess && *excess >= 1 && *excess <= excess_limit) return {.excess = static_cast<int32_t>(*excess)};
    }
    parameters.refuse_value(Text("{0} is no schedule", parameters.pair("schedule")),
                            Text("use chunk, once, or every:N with N from {0} to {1}", 1, excess_limit));
}

} // namespace palimpsest::engine
