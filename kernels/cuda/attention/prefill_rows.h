// Input of the passes of prefill attention: the chunk's queries and all keys, rotated once and stored densely.
#pragma once

#include "kernels/backend.h"
#include "kernels/cuda/device/cuda_context.h"

namespace palimpsest::kernels::cuda {

// The query rows of a KV head are stacked: row x is chunk row x / group of query head x % group in the group; it
// attends to ranks [first_rank, used + x / group]. Rows after the last one, up to the stride, are zero. Keys are
// undefined in tiles of 64 ranks that no row attends to.
struct RotatedRows {
    DType type = DType::F32;       // of queries and keys
    const void* queries = nullptr; // [kv_heads, query_stride, head_dim]; q k = logit * log2(e), for exp2
    const void* keys = nullptr;    // [kv_heads, key_stride, head_dim], by rank
    int64_t query_stride = 0, key_stride = 0;
    const int32_t* used = nullptr; // device [kv_heads]
    int32_t dim = 0, group = 1, rows = 0;
    int32_t window = 0; // as in AttendArgs
    float soft_cap = 0; // of logits * log2(e); 0: none

    // The first rank that a row attends to, if it could see `visible` ranks without a window.
    __host__ __device__ int32_t first_rank(int32_t visible) const
    {
        return window > 0 && visible > window ? visible - window : 0;
    }
    __host__ __device__ bool masks_or_caps() const { return window > 0 || soft_cap > 0; }
};

inline constexpr int row_padding = 64; // strides are multiples of this

// Returns device memory that is valid until the next call. `type`: F32 or the staging type.
RotatedRows rotate_rows(const AttendArgs& args, DType type, CudaContext& context);

} // namespace palimpsest::kernels::cuda
