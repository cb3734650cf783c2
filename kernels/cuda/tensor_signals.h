// Sums of attention by rank on tensor cores (performance.md, 4.2, pass 2): what most policies ask for.
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
    float* sums = nullptr; // [splits, kv_heads, turned.key_stride]
};

void sum_ranks_on_tensor_cores(const RankSums& work, CudaContext& context);

} // namespace palimpsest::kernels::cuda
