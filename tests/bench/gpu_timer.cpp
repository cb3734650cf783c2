#include "tests/bench/gpu_timer.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "kernels/base/error.h"
#include "kernels/cuda/cuda_error.h"
#include "tests/bench/median.h"

namespace palimpsest::bench {

using kernels::cuda::check;

// A round of calls as one graph.
class GpuTimer::Replay {
public:
    Replay(cudaStream_t stream, const std::function<void()>& round) : stream_(stream)
    {
#ifdef CUDART_VERSION // not where a header stands in for the runtime
        // Relaxed: what a call does beside queueing is allowed, and was done in the warm-up.
        if (cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed) != cudaSuccess) return;
        bool whole = true;
        try {
            round();
        } catch (const Error&) {
            whole = false;
        }
        cudaGraph_t graph = nullptr;
        if (cudaStreamEndCapture(stream, &graph) == cudaSuccess && graph && whole)
            if (cudaGraphInstantiate(&graph_, graph, 0) != cudaSuccess) graph_ = nullptr;
        if (graph) cudaGraphDestroy(graph);
        cudaGetLastError(); // a capture that failed is no error: calls are then made one by one
#else
        (void)round;
#endif
    }
    ~Replay()
    {
#ifdef CUDART_VERSION
        if (graph_) cudaGraphExecDestroy(graph_);
#endif
    }
    Replay(const Replay&) = delete;
    Replay& operator=(const Replay&) = delete;

    bool works() const
    {
        return graph_ != nullptr;
    }
    void operator()() const
    {
#ifdef CUDART_VERSION
        check(cudaGraphLaunch(graph_, stream_));
#endif
    }

private:
    cudaStream_t stream_;
#ifdef CUDART_VERSION
    cudaGraphExec_t graph_ = nullptr;
#else
    void* graph_ = nullptr;
#endif
};

GpuTimer::GpuTimer(kernels::cuda::CudaContext& context, int samples) : context_(context), samples_(samples)
{
    check(cudaEventCreate(&begin_));
    check(cudaEventCreate(&end_));
}

GpuTimer::~GpuTimer()
{
    if (begin_) cudaEventDestroy(begin_);
    if (end_) cudaEventDestroy(end_);
}

double GpuTimer::seconds_of(int rounds, const std::function<void()>& round)
{
    check(cudaEventRecord(begin_, context_.stream()));
    for (int i = 0; i < rounds; ++i)
        round();
    check(cudaEventRecord(end_, context_.stream()));
    check(cudaEventSynchronize(end_));
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, begin_, end_));
    return static_cast<double>(milliseconds) / 1e3;
}

GpuSample GpuTimer::measure(const GpuBody& body, int set, bool as_graph)
{
    constexpr double least_seconds = 0.2;
    constexpr int least_calls = 16; // of a graph: its own start is spread over them
    const int calls = as_graph ? (least_calls + set - 1) / set * set : set;
    const std::function<void()> each = [&] {
        for (int i = 0; i < calls; ++i)
            body(i % set);
    };
    each();
    context_.finish();
    const auto replay = as_graph ? std::make_unique<Replay>(context_.stream(), each) : nullptr;
    const bool graph = replay && replay->works();
    const std::function<void()> round = graph ? std::function<void()>([&] { (*replay)(); }) : each;
    const double once = std::max(1e-7, seconds_of(1, round));
    const int rounds = static_cast<int>(std::clamp(std::ceil(least_seconds / once), 1.0, 1e6));
    std::vector<double> samples;
    for (int i = 0; i < samples_; ++i)
        samples.push_back(seconds_of(rounds, round) / rounds / calls);
    const auto [least, most] = std::minmax_element(samples.begin(), samples.end());
    return {median(samples), *least, *most, graph};
}

} // namespace palimpsest::bench
