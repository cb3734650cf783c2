// CUDA operations on random data, ready to be called again and again.
#pragma once

#include <memory>
#include <string>

#include "kernels/backend.h"
#include "kernels/cuda/cuda_context.h"
#include "tests/bench/gpu_timer.h"

namespace palimpsest::bench {

using kernels::DType;

// What is called, and the data that it is called with.
struct GpuWork {
    GpuBody body;
    int set = 1;     // calls that together read more than a cache holds
    double work = 0; // bytes or operations of one call
};

struct LinearCase {
    DType type = DType::BF16;
    int64_t rows = 0, cols = 0; // of the weight
    int64_t inputs = 1;
    kernels::Phase phase = kernels::Phase::Decode;
    bool norm = false;
};

// Work: bytes of the weight for one input, else operations. Weights of more than `cache_bytes` in all.
GpuWork linear_work(kernels::cuda::CudaContext& context, const LinearCase& shape, size_t cache_bytes);
// The same for gate and up ([2 rows, cols]) and down ([cols, rows]).
GpuWork feed_forward_work(kernels::cuda::CudaContext& context, const LinearCase& shape, size_t cache_bytes);

enum class Signals { None, LastRows, AllRows, Every };

struct AttentionCase {
    int32_t kv_heads = 8, group = 4, head_dim = 128;
    int32_t used = 2048; // ranks of each list
    int32_t rows = 512;  // of the chunk
    DType type = DType::BF16;
    Signals signals = Signals::None;
    bool shuffled = false;     // order lists
    bool keys_rotated = false; // original positions
    bool ragged = false;       // lists of different lengths
};

// Work: operations, of the causal half only.
GpuWork prefill_work(kernels::cuda::CudaContext& context, const AttentionCase& shape);
// Work: bytes of keys and values.
GpuWork decode_work(kernels::cuda::CudaContext& context, const AttentionCase& shape, size_t cache_bytes);

struct LayerCase {
    AttentionCase attention; // with signals: lists accumulate them and give up a token
    DType weights = DType::BF16;
    int64_t dim = 0, ffn = 0;
};

// A decoded token's way through one layer. Work: bytes of weights, keys and values.
GpuWork layer_work(kernels::cuda::CudaContext& context, const LayerCase& shape, size_t cache_bytes);
// Work: bytes read and written. As many ranks leave as came: every fifth of five times as many.
GpuWork compact_work(kernels::cuda::CudaContext& context, const AttentionCase& shape);
// Work: bytes of order lists read and written. `count` ranks leave each list.
GpuWork drop_work(kernels::cuda::CudaContext& context, const AttentionCase& shape, int32_t count);
GpuWork straighten_work(kernels::cuda::CudaContext& context, const AttentionCase& shape);
GpuWork stage_work(kernels::cuda::CudaContext& context, const AttentionCase& shape);
// Bounds of all pages, then decode attention to a part of the list: a call of each.
GpuWork retrieval_work(kernels::cuda::CudaContext& context, const AttentionCase& shape, double top_p);
// Every list's rows to the host.
GpuWork gather_work(kernels::cuda::CudaContext& context, const AttentionCase& shape);
GpuWork embed_work(kernels::cuda::CudaContext& context, DType type, int64_t rows, int64_t cols, int64_t ids);

struct EvictionCase {
    int32_t kv_heads = 8;
    int32_t size = 2560;   // of each list, the step's own rows included
    int32_t rows = 512;    // that came; 1: a decoded token, order lists follow
    int32_t leaving = 512; // of each list
    bool tiles = false;    // two neighbours meet; otherwise the lowest leave
};

// Work: bytes of statistics and columns read and written.
GpuWork accumulate_work(kernels::cuda::CudaContext& context, const EvictionCase& shape);
// Work: bytes of statistics read and written.
GpuWork evict_work(kernels::cuda::CudaContext& context, const EvictionCase& shape);

} // namespace palimpsest::bench
