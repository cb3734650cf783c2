// Measures the limits of a CUDA device: copies in its memory, and cuBLASLt's bf16 product.
#pragma once

#include <optional>
#include <string>

#include "tests/bench/gpu_timer.h"

namespace palimpsest::bench {

// Bytes read and written per second when copying random data larger than the caches.
double copy_bandwidth(kernels::cuda::CudaContext& context, GpuTimer& timer);

// FLOP/s of an 8192 x 8192 x 8192 product of random bf16 with f32 accumulation, using the first choice of the
// library's heuristic. Returns nullopt and sets `why` if the library is missing or fails.
std::optional<double> bf16_product_rate(kernels::cuda::CudaContext& context, GpuTimer& timer, std::string& why);

} // namespace palimpsest::bench
