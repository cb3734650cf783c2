#include "engine/session/protocol.h"

#include <cstddef>

namespace palimpsest::engine {

const char* name_of(Protocol protocol)
{
    constexpr const char* names[] = {"blind", "steered", "question-last"};
    return names[static_cast<size_t>(protocol)];
}

} // namespace palimpsest::engine
