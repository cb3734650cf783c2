// A row of activations, with the derived values that products with quantised weights need.
#pragma once

#include "kernels/base/dtype.h"
#include "kernels/cpu/fixed_point.h"

namespace palimpsest::kernels::cpu {

struct PreparedRow {
    const float* x = nullptr;      // [cols]
    const float* sums16 = nullptr; // [cols / 16]: sums of 16 elements; null if no type has offsets per 16
    const float* sums32 = nullptr; // [cols / 32]: sums of 32 elements; likewise
    // Per type of weights: x in fixed point, [cols / 128, rounded up]; null if the type is multiplied in f32.
    const FixedPoint128* fixed_point[dtype_count] = {};
};

} // namespace palimpsest::kernels::cpu
