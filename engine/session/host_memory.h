// Memory of this machine that a process may still take.
#pragma once

#include <cstdint>
#include <string>

namespace palimpsest::engine {

// The bytes that the system could give without swapping, within the limits of the process's control groups
// (versions 1 and 2); UINT64_MAX: not known. The page cache of a group counts as available: the kernel reclaims it
// before it refuses memory. `root` is put before the paths that are read, /proc/... and /sys/fs/cgroup/...
uint64_t available_memory(const std::string& root = "");

} // namespace palimpsest::engine
