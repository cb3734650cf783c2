// What the passes of prefill attention read: the chunk's queries and all keys, turned to their positions once and
// dense (performance.md, 4.2).
#pragma once

#include "kernels/backend.h"
#include "kernels/cuda/cuda_context.h"

namespace palimpsest::kernels::cuda {

// Query rows of a KV head are stacked: row x is chunk row x / group of head x % group of the group; it attends to
// ranks [first_rank, used + x / group]. Rows beyond the last, up to the stride, are zero; keys of tiles of 64 ranks
// that no row attends to are undefined.
struct TurnedRows {
    DType type = DType::F32;       // of both
    const void* queries = nullptr; // [kv_heads, query_stride, head_dim]; products with keys are logits over log 2
    const void* keys = nullptr;    // [kv_heads, key_stride, head_dim], by rank
    int64_t query_stride = 0, key_stride = 0;
    const int32_t* used = nullptr; // device [kv_heads]
    int32_t dim = 0, group = 1, rows = 0;
    int32_t window = 0; // as in AttendArgs
    float soft_cap = 0; // of logits, over log 2; 0: none

    // Of all ranks or, with a window, of the newest that a row sees which could see `visible`.
    __host__ __device__ int32_t first_rank(int32_t visible) const
    {
        return window > 0 && visible > window ? visible - window : 0;
    }
    __host__ __device__ bool masks_or_caps() const { return window > 0 || soft_cap > 0; }
};

inline constexpr int row_padding = 64; // strides are multiples of this

// Device memory, good until the next call. `type`: F32, or that of the staging.
TurnedRows turn_rows(const AttendArgs& args, DType type, CudaContext& context);

} // namespace palimpsest::kernels::cuda
