// What a CUDA device can do at most, measured: copies in its memory and cuBLASLt's bf16 product.
#pragma once

#include <optional>
#include <string>

#include "tests/bench/gpu_timer.h"

namespace palimpsest::bench {

// Bytes read and written per second by a copy of random data that no cache holds.
double copy_bandwidth(kernels::cuda::CudaContext& context, GpuTimer& timer);

// FLOP/s of an 8192 x 8192 x 8192 product of random bf16, summed in f32, by what the library's heuristic takes
// first. None, and why, if there is no library or it refuses.
std::optional<double> bf16_product_rate(kernels::cuda::CudaContext& context, GpuTimer& timer, std::string& why);

} // namespace palimpsest::bench
