// Streams of the emulated runtime: work runs at once, or is kept while the stream is captured; and the graphs that
// come of it.
#pragma once

#include <memory>
#include <vector>

#include "tests/support/simt/runtime_api.h"
#include "tests/support/simt/work.h"

namespace simt {

struct GraphNode {
    Work work;
    std::vector<size_t> after; // nodes that must have run
};

// What streams keep between cudaStreamBeginCapture and cudaStreamEndCapture.
struct Capture {
    std::vector<GraphNode> nodes;
    SimtStream* origin = nullptr;
    std::vector<SimtStream*> streams; // the origin, and those that waited for its events
    bool relaxed = false, valid = true, ended = false;
};

// Runs it, or keeps it if the stream is captured.
cudaError_t submit(cudaStream_t stream, Work work);

bool is_captured(cudaStream_t stream);
// From now on the device is slow: work runs no sooner than the host waits for it, in the order it was queued in,
// which is one that all streams allow. Kernels of a stream that overlap those ahead of them begin early (work.h),
// as they do in a graph.
void keep_work_back(bool back);
bool is_late(cudaStream_t stream); // work of this stream waits
uint64_t queued_so_far();
cudaError_t run_queued(uint64_t so_many = UINT64_MAX); // of all that was ever queued
cudaError_t wait_for(uint64_t so_many);                // the same, and counts
// A call that spoils the capture of its stream: an error if there is one.
cudaError_t refuse_capture_of(cudaStream_t stream, cudaError_t why = cudaErrorStreamCaptureUnsupported);
// A call that spoils every capture unless it was begun as relaxed: memory, and waiting for the device.
cudaError_t refuse_any_capture();
void forget_captures(); // a new process has none

} // namespace simt

struct SimtStream {
    std::shared_ptr<simt::Capture> capture;
    std::vector<size_t> after; // nodes that the next one waits for
};

struct SimtEvent {
    std::shared_ptr<simt::Capture> capture; // that it was recorded in
    std::vector<size_t> after;
    bool recorded = false;
    uint64_t behind = 0; // so much of what was queued
};

struct SimtGraph {
    std::vector<simt::GraphNode> nodes;
};

struct SimtGraphExec {
    std::shared_ptr<const std::vector<simt::GraphNode>> nodes;
};
