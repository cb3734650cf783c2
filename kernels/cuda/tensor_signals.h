// Signals by rank on tensor cores (performance.md, 4.2, pass 2): all but those of single query heads.
#pragma once

#include "kernels/cuda/prefill_rows.h"

namespace palimpsest::kernels::cuda {

struct RankSums {
    TurnedRows turned;          // of F16 or BF16, heads of 64 or 128
    const float* lse = nullptr; // [kv_heads, turned.query_stride], in log 2
    int32_t kv_heads = 0;
    int32_t first_row = 0;  // of the chunk, from which on rows count
    int32_t split_rows = 1; // of the chunk
    int32_t splits = 1;
    // [splits, kv_heads, turned.key_stride] each; null: not wanted
    float* sums = nullptr;
    float* low_counts = nullptr; // REQUIRES: counts_low_on_tensor_cores
    float* entropies = nullptr;
};

// Whether the query heads of a group lie within the four lanes that have a rank, so that they add up.
bool counts_low_on_tensor_cores(int32_t group);

void sum_ranks_on_tensor_cores(const RankSums& work, CudaContext& context);

} // namespace palimpsest::kernels::cuda
