// Recorded operations as a CUDA graph: one launch for a decoded token (performance.md, 5.3).
#pragma once

#include <functional>
#include <memory>

#include "kernels/backend.h"
#include "kernels/cuda/cuda_context.h"

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
    Owned<cudaGraphExec_t> exec_; // may go while it runs
};

// As in backend.h. Whatever record throws, the stream does work at once again afterwards.
std::unique_ptr<GraphRecording> record(const std::function<void()>& operations, CudaContext& context);
bool replay(const Recording& recording, CudaContext& context);

} // namespace palimpsest::kernels::cuda
