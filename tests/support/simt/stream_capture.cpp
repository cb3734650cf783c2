#include "tests/support/simt/stream_capture.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "tests/support/simt/traffic.h"

namespace simt {
namespace {

std::vector<std::shared_ptr<Capture>>& ongoing()
{
    static std::vector<std::shared_ptr<Capture>> all;
    return all;
}

struct Queue {
    std::deque<std::function<cudaError_t()>> work;
    uint64_t queued = 0; // ever
    bool back = false;   // its work is kept back
};

Queue& queue()
{
    static Queue one;
    return one;
}

cudaError_t run_or_keep(std::function<cudaError_t()> work)
{
    ++queue().queued;
    if (!queue().back) return work();
    queue().work.push_back(std::move(work));
    return cudaSuccess;
}

void add(std::vector<size_t>& after, const std::vector<size_t>& more)
{
    for (const size_t node : more)
        if (std::find(after.begin(), after.end(), node) == after.end()) after.push_back(node);
}

void end(const std::shared_ptr<Capture>& capture)
{
    capture->ended = true;
    for (SimtStream* stream : capture->streams) {
        stream->capture = nullptr;
        stream->after.clear();
    }
    std::erase(ongoing(), capture);
}

void join(SimtStream& stream, const std::shared_ptr<Capture>& capture)
{
    if (stream.capture == capture) return;
    stream.capture = capture;
    capture->streams.push_back(&stream);
}

// Nodes that have run once those of `from` have.
std::vector<bool> before(const std::vector<GraphNode>& nodes, const std::vector<size_t>& from)
{
    std::vector<bool> reached(nodes.size());
    std::vector<size_t> next = from;
    while (!next.empty()) {
        const size_t node = next.back();
        next.pop_back();
        if (reached[node]) continue;
        reached[node] = true;
        next.insert(next.end(), nodes[node].after.begin(), nodes[node].after.end());
    }
    return reached;
}

bool all_joined(const Capture& capture)
{
    const std::vector<bool> reached = before(capture.nodes, capture.origin->after);
    return std::find(reached.begin(), reached.end(), false) == reached.end();
}

// In the order they were captured in, or, of those that nothing holds back, always the last one first.
cudaError_t run_nodes(const std::vector<GraphNode>& nodes)
{
    std::vector<bool> done(nodes.size());
    const auto ready = [&](size_t node) {
        const std::vector<size_t>& after = nodes[node].after;
        return !done[node] && std::all_of(after.begin(), after.end(), [&](size_t other) { return done[other]; });
    };
    for (size_t count = 0; count < nodes.size(); ++count) {
        size_t next = current_order() == Order::Ascending ? 0 : nodes.size() - 1;
        while (!ready(next))
            next += current_order() == Order::Ascending ? size_t{1} : ~size_t{0};
        done[next] = true;
        if (const cudaError_t status = nodes[next].work(); status != cudaSuccess) return status;
    }
    return cudaSuccess;
}

} // namespace

cudaError_t submit(cudaStream_t stream, std::function<cudaError_t()> work)
{
    if (const cudaError_t failed = enter()) return failed;
    if (!is_captured(stream)) return run_or_keep(std::move(work));
    Capture& capture = *stream->capture;
    if (!capture.valid) return remember(cudaErrorStreamCaptureInvalidated);
    capture.nodes.push_back({std::move(work), stream->after});
    stream->after = {capture.nodes.size() - 1};
    return cudaSuccess;
}

void keep_work_back(bool back)
{
    queue().back = back;
}

bool is_late(cudaStream_t stream)
{
    return queue().back && !is_captured(stream);
}

uint64_t queued_so_far()
{
    return queue().queued;
}

cudaError_t run_queued(uint64_t so_many)
{
    Queue& all = queue();
    while (!all.work.empty() && all.queued - all.work.size() < so_many) {
        const auto work = std::move(all.work.front());
        all.work.pop_front();
        if (const cudaError_t status = work()) return status;
    }
    return cudaSuccess;
}

cudaError_t wait_for(uint64_t so_many)
{
    ++device_traffic().waits;
    device_traffic().idle += so_many == queued_so_far();
    return run_queued(so_many);
}

bool is_captured(cudaStream_t stream)
{
    return stream && stream->capture;
}

cudaError_t refuse_capture_of(cudaStream_t stream, cudaError_t why)
{
    if (!is_captured(stream)) return cudaSuccess;
    stream->capture->valid = false;
    return remember(why);
}

void forget_captures()
{
    ongoing().clear();
    queue().work.clear();
}

cudaError_t refuse_any_capture()
{
    bool refused = false;
    for (const auto& capture : ongoing()) {
        if (capture->relaxed) continue;
        capture->valid = false;
        refused = true;
    }
    return refused ? remember(cudaErrorStreamCaptureUnsupported) : cudaSuccess;
}

} // namespace simt

using simt::remember;

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode)
{
    if (!stream) return remember(cudaErrorStreamCaptureUnsupported);
    if (simt::is_captured(stream)) return remember(cudaErrorIllegalState);
    auto capture = std::make_shared<simt::Capture>();
    capture->origin = stream;
    capture->relaxed = mode == cudaStreamCaptureModeRelaxed;
    simt::ongoing().push_back(capture);
    simt::join(*stream, capture);
    return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph)
{
    *graph = nullptr;
    if (!simt::is_captured(stream)) return remember(cudaErrorIllegalState);
    const std::shared_ptr<simt::Capture> capture = stream->capture;
    if (capture->origin != stream) return simt::refuse_capture_of(stream, cudaErrorStreamCaptureUnmatched);
    const bool joined = simt::all_joined(*capture);
    simt::end(capture);
    if (!capture->valid) return remember(cudaErrorStreamCaptureInvalidated);
    if (!joined) return remember(cudaErrorStreamCaptureUnjoined);
    *graph = new SimtGraph{std::move(capture->nodes)};
    return cudaSuccess;
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status)
{
    *status = !simt::is_captured(stream) ? cudaStreamCaptureStatusNone
              : stream->capture->valid   ? cudaStreamCaptureStatusActive
                                         : cudaStreamCaptureStatusInvalidated;
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    if (const cudaError_t failed = simt::enter()) return failed;
    event->capture = simt::is_captured(stream) ? stream->capture : nullptr;
    event->after = event->capture ? stream->after : std::vector<size_t>{};
    event->recorded = true;
    event->behind = simt::queued_so_far();
    return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned)
{
    if (!event->capture) return simt::refuse_capture_of(stream, cudaErrorStreamCaptureIsolation);
    if (!stream || event->capture->ended) return remember(cudaErrorCapturedEvent);
    if (simt::is_captured(stream) && stream->capture != event->capture) {
        event->capture->valid = false;
        return simt::refuse_capture_of(stream, cudaErrorStreamCaptureMerge);
    }
    simt::join(*stream, event->capture);
    simt::add(stream->after, event->after);
    return cudaSuccess;
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count)
{
    if (nodes) return remember(cudaErrorInvalidValue);
    *count = graph->nodes.size();
    return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long)
{
    *exec = new SimtGraphExec{std::make_shared<const std::vector<simt::GraphNode>>(graph->nodes)};
    return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream)
{
    if (const cudaError_t failed = simt::enter()) return failed;
    if (const cudaError_t status = simt::refuse_capture_of(stream); status != cudaSuccess) return status;
    simt::Traffic& traffic = simt::device_traffic();
    ++traffic.launches;
    traffic.graph_nodes += exec->nodes->size();
    return simt::run_or_keep([nodes = exec->nodes] { return simt::run_nodes(*nodes); });
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    simt::count_after_failure();
    if (!graph) return remember(cudaErrorInvalidValue);
    delete graph;
    return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec)
{
    simt::count_after_failure();
    if (!exec) return remember(cudaErrorInvalidValue);
    delete exec;
    return cudaSuccess;
}
