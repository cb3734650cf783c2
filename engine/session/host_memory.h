// Memory of this machine that a process may still take.
#pragma once

#include <cstdint>

namespace palimpsest::engine {

// What the system could give without swapping, within the limits of the process's control groups (versions 1 and
// 2); UINT64_MAX: not known.
uint64_t available_memory();

} // namespace palimpsest::engine
