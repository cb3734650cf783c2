// The forward pass of prefill attention: outputs and log-sum-exps, without signals.
#pragma once

#include "kernels/cuda/attention/prefill_rows.h"

namespace palimpsest::kernels::cuda {

struct Forward {
    AttendArgs args; // lists.used: device memory
    RotatedRows rotated;
    float* lse = nullptr; // [kv_heads, query_stride] log-sum-exps of the stacked rows, base 2
};

// True if the device has tensor cores for the staging type, and a kernel exists for this head size.
bool suits_tensor_cores(const AttendArgs& args, const CudaContext& context);

// Queries, keys, values and softmax weights are in the staging type, sums in f32. REQUIRES: suits_tensor_cores,
// and rows rotated in that type.
void attend_on_tensor_cores(const Forward& forward, CudaContext& context);

} // namespace palimpsest::kernels::cuda
