// The SIMD instruction sets this program can run its kernels with, by Highway's names ("AVX3", "AVX2", "SSE4",
// ...).
//
// Highway keeps the choice in one table per process, so all that compute at a time agree on it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace palimpsest::kernels {

std::vector<std::string> simd_targets(); // built in and supported by this CPU, best first
std::string simd_target();               // the one in use
// Uses `name`, in any case; empty: the best. Throws Error (Usage) that lists what there is. Not thread-safe, and
// not to be called beside a running backend (tests, benchmarks).
void pin_simd_target(std::string_view name);

// Held by a backend. The first one chooses the target; while it is held, others get the same one.
class SimdUse {
public:
    // `name` empty: the one in use, or the best. Throws Error (Usage) for an unknown target, or one in conflict.
    explicit SimdUse(std::string_view name);
    ~SimdUse();
    SimdUse(const SimdUse&) = delete;
    SimdUse& operator=(const SimdUse&) = delete;
};

} // namespace palimpsest::kernels
