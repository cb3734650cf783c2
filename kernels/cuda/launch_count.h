// How many kernels this process has launched: what a token costs beside its bytes (performance.md, 5.3).
#pragma once

#include <atomic>
#include <cstdint>

namespace palimpsest::kernels::cuda {

inline std::atomic<uint64_t> launches_so_far{0};

// `nodes` of a recording that runs as a whole count like as many launches.
inline void count_launches(uint64_t nodes)
{
    launches_so_far.fetch_add(nodes, std::memory_order_relaxed);
}

} // namespace palimpsest::kernels::cuda
