// The norms of the keys of a chunk or token, for policies that read them (SignalRequest::key_norms).
#pragma once

#include "kernels/backend.h"
#include "kernels/cuda/device/cuda_context.h"

namespace palimpsest::kernels::cuda {

// The ranks of each list before the rows of a call, [kv_heads].
struct UsedRanks {
    const int32_t* exact = nullptr; // device memory, read when the kernel runs
    const int32_t* most = nullptr;  // host: upper bounds
};

// Writes nothing if no norms are requested.
void write_key_norms(const HeadShape& shape, const float* qkv, int32_t rows, const UsedRanks& used,
                     const SignalRequest& wanted, CudaContext& context);

} // namespace palimpsest::kernels::cuda
