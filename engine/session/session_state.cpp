#include "engine/session/session_state.h"

#include <utility>

namespace palimpsest::engine {

SessionOptions options_of(const SessionState& state)
{
    PolicySpec policy = state.policy;
    policy.stored = true;
    return {.policy = std::move(policy),
            .budget = state.budget,
            .chunk = state.chunk,
            .pins = Pins(state.pins),
            .question_room = state.question_room,
            .positions = state.positions,
            .kv_type = state.kv_type,
            .rows_at_once = SessionOptions{}.rows_at_once,
            .sampler = state.sampler_options};
}

} // namespace palimpsest::engine
