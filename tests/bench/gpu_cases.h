// CUDA operations on random data, ready to be called repeatedly.
#pragma once

#include <memory>
#include <string>

#include "kernels/backend.h"
#include "kernels/cuda/device/cuda_context.h"
#include "tests/bench/gpu_timer.h"

namespace palimpsest::bench {

using kernels::DType;

// A callable operation with its data.
struct GpuWork {
    GpuBody body;
    int set = 1;     // number of calls whose data together exceed the L2 cache
    double work = 0; // bytes or operations per call
};

struct LinearCase {
    DType type = DType::BF16;
    int64_t rows = 0, cols = 0; // of the weight
    int64_t inputs = 1;
    kernels::Phase phase = kernels::Phase::Decode;
    bool norm = false;
};

// Work: bytes of the weight if there is one input, otherwise operations. Makes enough weights to exceed
// `cache_bytes`.
GpuWork linear_work(kernels::cuda::CudaContext& context, const LinearCase& shape, size_t cache_bytes);
// Like linear_work(), for the matrices gate and up ([2 rows, cols]) and down ([cols, rows]).
GpuWork feed_forward_work(kernels::cuda::CudaContext& context, const LinearCase& shape, size_t cache_bytes);

enum class Signals { None, LastRows, AllRows, Every };

struct AttentionCase {
    int32_t kv_heads = 8, group = 4, head_dim = 128;
    int32_t used = 2048; // rows of each list
    int32_t rows = 512;  // of the chunk
    DType type = DType::BF16;
    Signals signals = Signals::None;
    bool shuffled = false;     // order lists
    bool keys_rotated = false; // original positions
    bool ragged = false;       // lists of different lengths
};

// Work: operations of the causal half only.
GpuWork prefill_work(kernels::cuda::CudaContext& context, const AttentionCase& shape);
// Work: bytes of keys and values.
GpuWork decode_work(kernels::cuda::CudaContext& context, const AttentionCase& shape, size_t cache_bytes);

struct LayerCase {
    AttentionCase attention; // with signals: lists also accumulate them, and each evicts a token
    DType weights = DType::BF16;
    int64_t dim = 0, ffn = 0;
};

// Decodes a token in one layer. Work: bytes of weights, keys and values.
GpuWork layer_work(kernels::cuda::CudaContext& context, const LayerCase& shape, size_t cache_bytes);
// Work: bytes read and written. Evicts as many ranks as the chunk added: every fifth one, then the last.
GpuWork compact_work(kernels::cuda::CudaContext& context, const AttentionCase& shape);
// Work: bytes of order lists read and written. Evicts `count` ranks per list.
GpuWork drop_work(kernels::cuda::CudaContext& context, const AttentionCase& shape, int32_t count);
GpuWork defragment_work(kernels::cuda::CudaContext& context, const AttentionCase& shape);
GpuWork stage_work(kernels::cuda::CudaContext& context, const AttentionCase& shape);
// Each call computes the bounds of all retrieval pages, then decode attention to a part of the list.
GpuWork retrieval_work(kernels::cuda::CudaContext& context, const AttentionCase& shape, double top_p);
// Downloads the rows of every list.
GpuWork gather_work(kernels::cuda::CudaContext& context, const AttentionCase& shape);
GpuWork embed_work(kernels::cuda::CudaContext& context, DType type, int64_t rows, int64_t cols, int64_t ids);

struct EvictionCase {
    int32_t kv_heads = 8;
    int32_t size = 2560;   // per list, including the step's own rows
    int32_t rows = 512;    // new rows; 1 stands for a decoded token, whose eviction also updates order lists
    int32_t evicted = 512; // evicted per list
    bool tiles = false;    // eviction tiles of two neighbors; otherwise the lowest scores
};

// Work: bytes of statistics and columns read and written.
GpuWork accumulate_work(kernels::cuda::CudaContext& context, const EvictionCase& shape);
// Work: bytes of statistics read and written.
GpuWork evict_work(kernels::cuda::CudaContext& context, const EvictionCase& shape);

} // namespace palimpsest::bench
