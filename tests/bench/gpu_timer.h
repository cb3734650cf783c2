// Measures time on a CUDA device between events of the context's stream.
#pragma once

#include <functional>

#include "kernels/cuda/device/cuda_context.h"

namespace palimpsest::bench {

// The i-th call of the measured operation; may only queue work on the context's stream.
using GpuBody = std::function<void(int i)>;

struct GpuSample {
    double seconds = 0; // per call: median of the samples
    double least = 0, most = 0;
    bool graph = false;  // replayed as a graph, so that host time does not count
    double launches = 0; // kernels and copies per call; only for a graph
};

class GpuTimer {
public:
    GpuTimer(kernels::cuda::CudaContext& context, int samples);
    ~GpuTimer();
    GpuTimer(const GpuTimer&) = delete;
    GpuTimer& operator=(const GpuTimer&) = delete;

    // Calls body(0) ... body(set - 1) in turn: once as a warm-up, then in samples of about 0.2 s. `as_graph`:
    // records the calls as one graph and replays it, if they can be recorded.
    GpuSample measure(const GpuBody& body, int set, bool as_graph);

private:
    double seconds_of(int rounds, const std::function<void()>& round);

    kernels::cuda::CudaContext& context_;
    int samples_;
    cudaEvent_t begin_ = nullptr, end_ = nullptr;
};

} // namespace palimpsest::bench
