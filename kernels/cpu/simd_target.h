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
// names. For tests and benchmarks: not thread-safe, and must not be called while a backend is running.
void pin_simd_target(std::string_view name);

// Held by a backend. The first instance chooses the target; later ones share it as long as any instance exists.
class SimdUse {
public:
    // `name` empty: the target in use, or the best. Throws Error (Usage) if the target is unknown or not the one in
    // use.
    explicit SimdUse(std::string_view name);
    ~SimdUse();
    SimdUse(const SimdUse&) = delete;
    SimdUse& operator=(const SimdUse&) = delete;
};

} // namespace palimpsest::kernels
