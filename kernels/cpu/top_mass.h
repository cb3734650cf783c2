// The smallest number of weights that hold a given share of their sum ("Twilight", Lin et al. 2025, section 4.2).
#pragma once

#include <cstdint>

namespace palimpsest::kernels::cpu {

// Keeps the smallest set of weights in [0, 1], best first, that holds `share` of their sum (ties: the lower index;
// >= share - 1e-12), and zeroes the others. `candidates`: scratch [count]. Cost: about fifteen passes, and a
// selection among the weights near the cut-off.
void keep_top_mass(float* weights, int64_t count, double share, uint32_t* candidates);

} // namespace palimpsest::kernels::cpu
