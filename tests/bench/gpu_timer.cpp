#include "tests/bench/gpu_timer.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "kernels/base/error.h"
#include "kernels/cuda/device/cuda_error.h"
#include "kernels/cuda/device/cuda_graph.h"
#include "tests/bench/median.h"

namespace palimpsest::bench {

using kernels::cuda::check;

namespace {

// Returns null if the calls cannot be recorded; they are then made one by one.
std::unique_ptr<kernels::cuda::GraphRecording> recorded(const std::function<void()>& round,
                                                        kernels::cuda::CudaContext& context)
{
    try {
        return kernels::cuda::record(round, context);
    } catch (const Error&) {
        return nullptr;
    }
}

} // namespace

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
    constexpr int least_calls = 16; // calls per graph, to amortize the launch of the graph
    const int calls = as_graph ? (least_calls + set - 1) / set * set : set;
    const std::function<void()> each = [&] {
        for (int i = 0; i < calls; ++i)
            body(i % set);
    };
    each();
    context_.finish();
    const auto recording = as_graph ? recorded(each, context_) : nullptr;
    const std::function<void()> replay = [&] { kernels::cuda::replay(*recording, context_); };
    const std::function<void()>& round = recording ? replay : each;
    const double once = std::max(1e-7, seconds_of(1, round));
    const int rounds = static_cast<int>(std::clamp(std::ceil(least_seconds / once), 1.0, 1e6));
    std::vector<double> samples;
    samples.reserve(static_cast<size_t>(samples_));
    for (int i = 0; i < samples_; ++i)
        samples.push_back(seconds_of(rounds, round) / rounds / calls);
    const auto [least, most] = std::minmax_element(samples.begin(), samples.end());
    const size_t launches = recording ? recording->nodes() : 0;
    return {median(samples), *least, *most, recording != nullptr, static_cast<double>(launches) / calls};
}

} // namespace palimpsest::bench
