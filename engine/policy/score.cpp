#include "engine/policy/score.h"

namespace palimpsest::engine {

SignalNeeds signals_of(ScoreKind kind)
{
    switch (kind) {
    case ScoreKind::None:
        return {.window = SignalNeeds::none};
    case ScoreKind::Mean:
    case ScoreKind::Sum:
        return {.window = SignalNeeds::all};
    case ScoreKind::Last:
        return {.window = 1};
    }
    return {};
}

} // namespace palimpsest::engine
