#include "kernels/cuda/device/cuda_streams.h"

#include "kernels/cuda/device/cuda_error.h"

namespace palimpsest::kernels::cuda {
namespace {

Owned<cudaStream_t> new_stream()
{
    cudaStream_t stream = nullptr;
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    return Owned<cudaStream_t>(stream);
}

Owned<cudaEvent_t> new_event()
{
    cudaEvent_t event = nullptr;
    check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    return Owned<cudaEvent_t>(event);
}

} // namespace

void Releaser::operator()(cudaStream_t stream) const noexcept
{
    give_back([&] { return cudaStreamDestroy(stream); });
}
void Releaser::operator()(cudaEvent_t event) const noexcept
{
    give_back([&] { return cudaEventDestroy(event); });
}
void Releaser::operator()(cudaGraph_t graph) const noexcept
{
    give_back([&] { return cudaGraphDestroy(graph); });
}
void Releaser::operator()(cudaGraphExec_t exec) const noexcept
{
    give_back([&] { return cudaGraphExecDestroy(exec); });
}

CudaStreams::CudaStreams()
    : main_(new_stream()), side_(new_stream()), reached_(new_event()), marks_{new_event(), new_event()}
{
}

// Thread-local mode: calls of other threads, for other backends, neither invalidate the capture nor are refused.
void CudaStreams::begin_recording()
{
    check(cudaStreamBeginCapture(main_.get(), cudaStreamCaptureModeThreadLocal));
    recording_ = true;
    follows_kernel_ = false;
}

Owned<cudaGraph_t> CudaStreams::end_recording()
{
    const cudaError_t joined = try_to_join();
    cudaGraph_t captured = nullptr;
    const cudaError_t ended = cudaStreamEndCapture(main_.get(), &captured);
    Owned<cudaGraph_t> graph(captured);
    leave_recording();
    check(joined); // reported first: an unjoined capture also fails to end
    check(ended);
    return graph;
}

void CudaStreams::drop_recording() noexcept
{
    if (recording_ && !device_failed()) {
        note(try_to_join());
        cudaGraph_t captured = nullptr;
        note(cudaStreamEndCapture(main_.get(), &captured));
        const Owned<cudaGraph_t> graph(captured);
        cudaGetLastError();
    }
    leave_recording();
}

void CudaStreams::leave_recording()
{
    recording_ = aside_ = branched_ = false;
    marked_ = {};
}

void CudaStreams::turn_aside()
{
    if (!recording_) return;
    check(cudaEventRecord(reached_.get(), main_.get()));
    check(cudaStreamWaitEvent(side_.get(), reached_.get(), 0));
    aside_ = branched_ = true;
}

cudaError_t CudaStreams::try_to_join()
{
    if (!branched_) return cudaSuccess;
    branched_ = follows_kernel_ = false;
    const cudaError_t recorded = cudaEventRecord(reached_.get(), side_.get());
    return recorded == cudaSuccess ? cudaStreamWaitEvent(main_.get(), reached_.get(), 0) : recorded;
}

void CudaStreams::join()
{
    check(try_to_join());
}

void CudaStreams::mark(size_t which)
{
    if (!branched_) return;
    check(cudaEventRecord(marks_[which].get(), side_.get()));
    marked_[which] = true;
}

void CudaStreams::wait_for_mark(size_t which)
{
    if (!marked_[which]) return;
    marked_[which] = false;
    follows_kernel_ = false; // the next launch has another dependency besides that kernel
    check(cudaStreamWaitEvent(main_.get(), marks_[which].get(), 0));
}

} // namespace palimpsest::kernels::cuda
