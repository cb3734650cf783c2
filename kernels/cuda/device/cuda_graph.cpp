#include "kernels/cuda/device/cuda_graph.h"

#include "kernels/cuda/device/cuda_error.h"
#include "kernels/cuda/device/launch_count.h"

namespace palimpsest::kernels::cuda {

GraphRecording::GraphRecording(const CudaContext::Recorded& recorded) : scratch_(recorded.scratch)
{
    check(cudaGraphGetNodes(recorded.graph.get(), nullptr, &nodes_));
    cudaGraphExec_t exec = nullptr;
    check(cudaGraphInstantiate(&exec, recorded.graph.get(), 0));
    exec_.reset(exec);
}

std::unique_ptr<GraphRecording> record(const std::function<void()>& operations, CudaContext& context)
{
    context.begin_recording();
    try {
        operations();
        return std::make_unique<GraphRecording>(context.end_recording());
    } catch (...) {
        context.drop_recording();
        throw;
    }
}

bool replay(const Recording& recording, CudaContext& context)
{
    context.refuse_while_recording(Unrecordable::Replay);
    const auto& recorded = static_cast<const GraphRecording&>(recording);
    if (!context.is_still_there(recorded.scratch())) return false;
    check(cudaGraphLaunch(recorded.graph(), context.stream()));
    count_launches(recorded.nodes());
    return true;
}

} // namespace palimpsest::kernels::cuda
