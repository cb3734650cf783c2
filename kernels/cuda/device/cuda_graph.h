// Recorded operations as a CUDA graph: a decoded token is one graph launch.
#pragma once

#include <functional>
#include <memory>

#include "kernels/backend.h"
#include "kernels/cuda/device/cuda_context.h"

namespace palimpsest::kernels::cuda {

class GraphRecording final : public Recording {
public:
    explicit GraphRecording(const CudaContext::Recorded& recorded); // throws Error

    size_t nodes() const { return nodes_; } // kernels and copies
    cudaGraphExec_t graph() const { return exec_.get(); }
    const CudaContext::Places& scratch() const { return scratch_; }

private:
    CudaContext::Places scratch_;
    size_t nodes_ = 0;
    Owned<cudaGraphExec_t> exec_; // may be destroyed while it runs
};

// As in backend.h. If `operations` throws, the recording is dropped, and later work on the stream is executed, no
// longer recorded.
std::unique_ptr<GraphRecording> record(const std::function<void()>& operations, CudaContext& context);
bool replay(const Recording& recording, CudaContext& context);

} // namespace palimpsest::kernels::cuda
