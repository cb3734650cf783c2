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

struct Queued {
    Queued(Work given, cudaStream_t to) : work(std::move(given)), stream(to) {}
    Work work;
    Turn turn{work};
    cudaStream_t stream;
};

struct Queue {
    std::deque<std::unique_ptr<Queued>> work;
    uint64_t submitted = 0; // items so far, whether run at once or delayed
    bool delays = false;    // new work waits in the queue instead of running at once
};

Queue& queue()
{
    static Queue one;
    return one;
}

cudaError_t run_or_keep(Work work, cudaStream_t stream)
{
    ++queue().submitted;
    if (!queue().delays) return work.run();
    queue().work.push_back(std::make_unique<Queued>(std::move(work), stream));
    return cudaSuccess;
}

// Begins the queued work that follows `ahead`, which has not run yet, as long as each item may overlap the one
// before it.
void begin_queued_early(const Queued& ahead)
{
    const Queued* before = &ahead;
    for (int i = 0; i < most_early && static_cast<size_t>(i) < queue().work.size(); ++i) {
        Queued& next = *queue().work[static_cast<size_t>(i)];
        if (next.stream != before->stream || !next.turn.overlaps(before->turn)) return;
        if (!next.turn.begin_early()) return;
        before = &next;
    }
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

// Marks the nodes in `from` and all nodes that they depend on.
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

// One execution of a graph.
class Replay {
public:
    explicit Replay(const std::vector<GraphNode>& nodes) : nodes_(nodes), done_(nodes.size())
    {
        for (const GraphNode& node : nodes)
            turns_.emplace_back(node.work);
    }

    // Runs nodes in capture order or, in descending order, always the last ready node.
    cudaError_t run()
    {
        for (size_t count = 0; count < nodes_.size(); ++count) {
            const size_t node = next();
            begin_early_behind(node, most_early);
            done_[node] = true;
            if (const cudaError_t status = turns_[node].run(); status != cudaSuccess) return status;
        }
        return cudaSuccess;
    }

private:
    bool is_ready(size_t node) const
    {
        const std::vector<size_t>& after = nodes_[node].after;
        return !done_[node] && std::all_of(after.begin(), after.end(), [&](size_t other) { return done_[other]; });
    }

    size_t next() const
    {
        size_t node = current_order() == Order::Ascending ? 0 : nodes_.size() - 1;
        while (!is_ready(node))
            node += current_order() == Order::Ascending ? size_t{1} : ~size_t{0};
        return node;
    }

    void begin_early_behind(size_t node, int most)
    {
        if (most == 0) return;
        for (size_t other = 0; other < nodes_.size(); ++other) {
            const std::vector<size_t>& after = nodes_[other].after;
            if (after.size() != 1 || after.front() != node || !turns_[other].overlaps(turns_[node])) continue;
            if (turns_[other].begin_early()) begin_early_behind(other, most - 1);
        }
    }

    const std::vector<GraphNode>& nodes_;
    std::vector<Turn> turns_;
    std::vector<bool> done_;
};

} // namespace

cudaError_t submit(cudaStream_t stream, Work work)
{
    if (const cudaError_t failed = enter()) return failed;
    if (!is_captured(stream)) return run_or_keep(std::move(work), stream);
    Capture& capture = *stream->capture;
    if (!capture.valid) return remember(cudaErrorStreamCaptureInvalidated);
    capture.nodes.push_back({std::move(work), stream->after});
    stream->after = {capture.nodes.size() - 1};
    return cudaSuccess;
}

void delay_work(bool delays)
{
    queue().delays = delays;
}

bool is_late(cudaStream_t stream)
{
    return queue().delays && !is_captured(stream);
}

uint64_t submitted_so_far()
{
    return queue().submitted;
}

cudaError_t run_queued(uint64_t so_many)
{
    Queue& all = queue();
    while (!all.work.empty() && all.submitted - all.work.size() < so_many) {
        const auto work = std::move(all.work.front());
        all.work.pop_front();
        begin_queued_early(*work);
        if (const cudaError_t status = work->turn.run()) return status;
    }
    return cudaSuccess;
}

cudaError_t wait_for(uint64_t so_many)
{
    ++device_traffic().waits;
    device_traffic().idle += so_many == submitted_so_far();
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
    event->behind = simt::submitted_so_far();
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
    return simt::run_or_keep(simt::Work([nodes = exec->nodes] { return simt::Replay(*nodes).run(); }), stream);
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
