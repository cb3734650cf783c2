// The forward pass of prefill attention (performance.md, 4.2, pass 1).
#pragma once

#include "kernels/cuda/prefill_rows.h"

namespace palimpsest::kernels::cuda {

struct Forward {
    AttendArgs args; // lists.used: device memory
    TurnedRows turned;
    float* lse = nullptr; // [kv_heads, query_stride] of the stacked rows: log-sum-exps, in log 2
};

// Whether there are tensor cores for the type of the staging, and a kernel for the size of a head.
bool suits_tensor_cores(const AttendArgs& args, const CudaContext& context);

// Queries, keys, values and softmax weights in the type of the staging, sums in f32. REQUIRES: suits_tensor_cores,
// and rows turned in that type.
void attend_on_tensor_cores(const Forward& forward, CudaContext& context);

} // namespace palimpsest::kernels::cuda
