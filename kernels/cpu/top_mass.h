// The least number of weights that hold most of their sum ("Twilight", Lin et al. 2025, section 4.2).
#pragma once

#include <cstdint>

namespace palimpsest::kernels::cpu {

// Leaves the smallest best-first set of weights in [0, 1] that holds `share` of their sum (ties: the lower index;
// >= share - 1e-12), and zeroes the others. `order`: scratch [count]. Cost: about fifteen passes, and a selection
// among those near the edge.
void keep_top_mass(float* weights, int64_t count, double share, uint32_t* order);

} // namespace palimpsest::kernels::cpu
