// The SIMD targets (instruction sets) with which the kernels can run, by Highway's names ("AVX3", "AVX2", "SSE4",
// ...).
//
// Highway keeps the choice in one table per process, so all concurrent computations use the same target.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace palimpsest::kernels {

std::vector<std::string> simd_targets(); // compiled in and supported by this CPU, best first
std::string simd_target();               // the one in use
// Switches to the target `name` (case-insensitive); empty: the best. Throws Error (Usage) that lists the valid
// names. Only tests and benchmarks call it directly; backends hold a SimdUse. Not thread-safe, and must not be
// called while a backend is running.
void pin_simd_target(std::string_view name);

// A CPU backend holds one. The first instance chooses the target, and all use it until none exists any more.
class SimdUse {
public:
    // If `name` is empty: the target in use, or the best if no other instance exists. Throws Error (Usage) if the
    // target is unknown, or differs from the one in use.
    explicit SimdUse(std::string_view name);
    ~SimdUse();
    SimdUse(const SimdUse&) = delete;
    SimdUse& operator=(const SimdUse&) = delete;
};

} // namespace palimpsest::kernels
