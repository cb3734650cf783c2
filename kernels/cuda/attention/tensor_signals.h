// Signals per rank on tensor cores, from the log-sum-exps of prefill: all signals except those per query head.
#pragma once

#include "kernels/cuda/attention/prefill_rows.h"

namespace palimpsest::kernels::cuda {

struct RankSums {
    RotatedRows rotated;        // F16 or BF16; head_dim 64 or 128
    const float* lse = nullptr; // [kv_heads, rotated.query_stride], base 2
    int32_t kv_heads = 0;
    int32_t first_row = 0;  // first row of the chunk that is counted
    int32_t split_rows = 1; // rows of the chunk in each split
    int32_t splits = 1;
    // [splits, kv_heads, rotated.key_stride] each; null: not computed
    float* sums = nullptr;
    float* low_counts = nullptr; // REQUIRES: counts_low_on_tensor_cores
    float* entropies = nullptr;
};

// True if the four lanes that share a rank hold all query heads of a group at once, so that shuffles can add them
// up.
bool counts_low_on_tensor_cores(int32_t group);

void sum_ranks_on_tensor_cores(const RankSums& work, CudaContext& context);

} // namespace palimpsest::kernels::cuda
