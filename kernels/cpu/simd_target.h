// The SIMD instruction sets this program can run its kernels with, by Highway's names ("AVX3", "AVX2", "SSE4",
// ...).
//
// Highway keeps the choice in one table per process: pinning a target changes it for every backend of the process,
// so it is for one backend at a time (the command's option, tests, benchmarks). Not thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace palimpsest::kernels {

std::vector<std::string> simd_targets(); // built in and supported by this CPU, best first
std::string simd_target();               // the one in use
// Uses `name`, in any case; empty: the best. Throws Error (Usage) that lists what there is.
void pin_simd_target(std::string_view name);

} // namespace palimpsest::kernels
