// Time on a CUDA device, between events of the context's stream.
#pragma once

#include <functional>

#include "kernels/cuda/cuda_context.h"

namespace palimpsest::bench {

// Call i of what is measured; it may only queue work on the context's stream.
using GpuBody = std::function<void(int i)>;

struct GpuSample {
    double seconds = 0; // of one call: the median of the samples
    double least = 0, most = 0;
    bool graph = false;  // replayed as a graph, so that no time of the host is in it
    double launches = 0; // of one call, kernels and copies; only of a graph
};

class GpuTimer {
public:
    GpuTimer(kernels::cuda::CudaContext& context, int samples);
    ~GpuTimer();
    GpuTimer(const GpuTimer&) = delete;
    GpuTimer& operator=(const GpuTimer&) = delete;

    // Calls 0 ... set - 1 again and again, in samples of more than 0.2 s, after a warm-up. `as_graph`: recorded
    // once and replayed, if they let themselves be recorded.
    GpuSample measure(const GpuBody& body, int set, bool as_graph);

private:
    double seconds_of(int rounds, const std::function<void()>& round);

    kernels::cuda::CudaContext& context_;
    int samples_;
    cudaEvent_t begin_ = nullptr, end_ = nullptr;
};

} // namespace palimpsest::bench
