// SplitMix64: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014, figure 17.
#pragma once

#include <cstdint>

namespace palimpsest::engine {

inline constexpr uint64_t split_mix_step = 0x9E3779B97F4A7C15u;

// The number that the generator gives in state `x`; its next state is x + split_mix_step. A bijection, so that
// different states never give the same number.
constexpr uint64_t split_mix(uint64_t x)
{
    x += split_mix_step;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
}

} // namespace palimpsest::engine
