// What a chunk's attention tells a policy (policies.md, 3.1), from the log-sum-exps of its rows.
#pragma once

#include "kernels/cuda/prefill_rows.h"

namespace palimpsest::kernels::cuda {

inline constexpr int32_t split_stacked_rows = 256; // of a split, about

// `lse`: [kv_heads, turned.query_stride] of the stacked rows, in log 2.
void prefill_signals(const AttendArgs& args, const TurnedRows& turned, const float* lse, CudaContext& context);

} // namespace palimpsest::kernels::cuda
