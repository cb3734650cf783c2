// The number of kernels that this process has launched, to measure launches per generated token.
#pragma once

#include <atomic>
#include <cstdint>

namespace palimpsest::kernels::cuda {

inline std::atomic<uint64_t> launches_so_far{0};

// A replayed recording of `nodes` nodes counts as that many launches.
inline void count_launches(uint64_t nodes)
{
    launches_so_far.fetch_add(nodes, std::memory_order_relaxed);
}

} // namespace palimpsest::kernels::cuda
