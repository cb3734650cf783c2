// Host memory that a process may still allocate.
#pragma once

#include <cstdint>
#include <string>

namespace palimpsest::engine {

// The bytes available without swapping, within the limits of the process's control groups (versions 1 and 2);
// UINT64_MAX: unknown. The page cache of a group counts as available, because the kernel reclaims it before it
// refuses memory. `root` is prepended to the paths that are read, /proc/... and /sys/fs/cgroup/...
uint64_t available_memory(const std::string& root = "");

} // namespace palimpsest::engine
