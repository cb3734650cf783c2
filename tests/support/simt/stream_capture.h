// Streams of the emulated runtime, which run work at once or record it during a capture, and graphs made from
// captures.
#pragma once

#include <memory>
#include <vector>

#include "tests/support/simt/runtime_api.h"
#include "tests/support/simt/work.h"

namespace simt {

struct GraphNode {
    Work work;
    std::vector<size_t> after; // nodes that must run before
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
// Delays work until the host waits for it. Work runs in submission order, which is valid for all streams. Kernels
// of a stream that overlap their predecessors begin early (work.h), as in a graph.
void delay_work(bool back);
bool is_late(cudaStream_t stream); // work of this stream is delayed
uint64_t queued_so_far();
cudaError_t run_queued(uint64_t so_many = UINT64_MAX); // up to this total count
cudaError_t wait_for(uint64_t so_many);                // the same; also counts the wait
// For calls that invalidate the capture of their stream: returns an error if there is a capture.
cudaError_t refuse_capture_of(cudaStream_t stream, cudaError_t why = cudaErrorStreamCaptureUnsupported);
// For calls that invalidate every capture not begun as relaxed: allocation, and waiting for the device.
cudaError_t refuse_any_capture();
void forget_captures(); // simulates a new process

} // namespace simt

struct SimtStream {
    std::shared_ptr<simt::Capture> capture;
    std::vector<size_t> after; // nodes that the next node depends on
};

struct SimtEvent {
    std::shared_ptr<simt::Capture> capture; // in which it was recorded
    std::vector<size_t> after;
    bool recorded = false;
    uint64_t behind = 0; // total submitted work at that time
};

struct SimtGraph {
    std::vector<simt::GraphNode> nodes;
};

struct SimtGraphExec {
    std::shared_ptr<const std::vector<simt::GraphNode>> nodes;
};
