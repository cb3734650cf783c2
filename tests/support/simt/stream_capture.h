// The streams of the emulated runtime, which run work at once, or record it during a capture; and the graphs that
// are made from captures.
#pragma once

#include <memory>
#include <vector>

#include "tests/support/simt/runtime_api.h"
#include "tests/support/simt/work.h"

namespace simt {

struct GraphNode {
    Work work;
    std::vector<size_t> after; // numbers of the nodes that must run before
};

// Work recorded between cudaStreamBeginCapture and cudaStreamEndCapture.
struct Capture {
    std::vector<GraphNode> nodes;
    SimtStream* origin = nullptr;
    std::vector<SimtStream*> streams; // the origin, and streams that waited for its events
    bool relaxed = false, valid = true, ended = false;
};

// Runs the work, or records it if the stream is captured.
cudaError_t submit(cudaStream_t stream, Work work);

bool is_captured(cudaStream_t stream);
// With `delays`, delays all work until the host waits for it. Delayed work runs in the order of submission, which
// is a valid order for all streams. Kernels that may overlap their predecessors in a stream begin early (work.h),
// as in a graph.
void delay_work(bool delays);
bool is_late(cudaStream_t stream); // whether work of this stream is delayed
uint64_t submitted_so_far();
cudaError_t run_queued(uint64_t so_many = UINT64_MAX); // runs delayed work until `so_many` items have run in total
cudaError_t wait_for(uint64_t so_many);                // like run_queued; also counts a host wait
// For calls that a captured stream refuses: invalidates its capture and returns an error, if there is a capture.
cudaError_t refuse_capture_of(cudaStream_t stream, cudaError_t why = cudaErrorStreamCaptureUnsupported);
// For allocation, and for waiting for the device: invalidates every capture that was not begun as relaxed, and
// returns an error.
cudaError_t refuse_any_capture();
void forget_captures(); // simulates a new process

} // namespace simt

struct SimtStream {
    std::shared_ptr<simt::Capture> capture;
    std::vector<size_t> after; // nodes that the next node depends on
};

struct SimtEvent {
    std::shared_ptr<simt::Capture> capture; // the capture in which the event was recorded
    std::vector<size_t> after;
    bool recorded = false;
    uint64_t behind = 0; // how much work was submitted before it was recorded
};

struct SimtGraph {
    std::vector<simt::GraphNode> nodes;
};

struct SimtGraphExec {
    std::shared_ptr<const std::vector<simt::GraphNode>> nodes;
};
