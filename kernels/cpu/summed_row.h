// A row of activations with what products with quantised weights need besides.
#pragma once

#include "kernels/base/dtype.h"
#include "kernels/cpu/fixed_point.h"

namespace palimpsest::kernels::cpu {

struct SummedRow {
    const float* x = nullptr;      // [cols]
    const float* sums16 = nullptr; // [cols / 16], of 16 elements each; null where no weight has such offsets
    const float* sums32 = nullptr; // [cols / 32], of 32 elements each; likewise
    // [cols / 128, rounded up], by the type of the weights; null where they are multiplied as f32.
    const FixedPoint128* fixed_point[dtype_count] = {};
};

} // namespace palimpsest::kernels::cpu
