#include "engine/policy/schedule.h"

namespace palimpsest::engine {

namespace {

constexpr int32_t excess_limit = 1 << 24;
constexpr std::string_view every = "every:";

} // namespace

ParameterInfo schedule_info()
{
    return {.key = "schedule",
            .meaning = "when lists are cut back: after every chunk, or once they hold N entries too many",
            .default_text = "chunk",
            .range = "chunk, every:N with N from 1 to " + std::to_string(excess_limit)};
}

EvictionSchedule read_schedule(PolicyParameters& parameters)
{
    const std::string text = parameters.text("schedule", "chunk");
    if (text == "chunk") return {};
    if (text == "once") {
        parameters.refuse_value("schedule", "is specified but not in this version", "use chunk or every:N");
    }
    if (text.starts_with(every)) {
        const auto excess = parse_whole(std::string_view(text).substr(every.size()));
        if (excess && *excess >= 1 && *excess <= excess_limit) return {.excess = static_cast<int32_t>(*excess)};
    }
    parameters.refuse_value("schedule", "is no schedule",
                            "use chunk, or every:N with N from 1 to " + std::to_string(excess_limit));
}

} // namespace palimpsest::engine
