// Signals that a policy gets from a chunk's attention, from the log-sum-exps of its rows (docs/policies-spec.md).
#pragma once

#include "kernels/cuda/attention/prefill_rows.h"

namespace palimpsest::kernels::cuda {

inline constexpr int32_t split_stacked_rows = 256; // stacked rows of a split, rounded down to whole chunk rows

// `lse`: [kv_heads, rotated.query_stride], the log-sum-exps of the stacked rows, base 2.
void prefill_signals(const AttendArgs& args, const RotatedRows& rotated, const float* lse, CudaContext& context);

} // namespace palimpsest::kernels::cuda
