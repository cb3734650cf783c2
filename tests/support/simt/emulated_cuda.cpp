#include "tests/support/simt/emulated_cuda.h"

#include <algorithm>
#include <vector>

#include "kernels/cuda/cuda_backend.h"
#include "kernels/cuda/device/cuda_error.h"
#include "kernels/cuda/device/cuda_graph.h"
#include "tests/support/simt/runtime_api.h"
#include "tests/support/simt/stream_capture.h"

namespace palimpsest::tests {

std::unique_ptr<kernels::Backend> open_emulated_cuda(int capability, int compiled_for)
{
    simt::set_device({.capability = capability, .compiled_for = compiled_for});
    return std::make_unique<kernels::cuda::CudaBackend>(0);
}

std::unique_ptr<kernels::Backend> open_cuda_without_ptx_version(int capability, int compiled_for)
{
    simt::set_device({.capability = capability, .compiled_for = compiled_for, .reports_ptx_version = false});
    return std::make_unique<kernels::cuda::CudaBackend>(0);
}

LaunchedThreads::LaunchedThreads()
{
    simt::forget_threads();
}

int LaunchedThreads::most() const
{
    return simt::max_threads();
}

size_t recorded_nodes(const kernels::Recording& recording)
{
    return dynamic_cast<const kernels::cuda::GraphRecording&>(recording).nodes();
}

size_t longest_chain(const kernels::Recording& recording)
{
    const auto& nodes = *dynamic_cast<const kernels::cuda::GraphRecording&>(recording).graph()->nodes;
    // The length of the longest chain that ends at each node. Predecessors have lower numbers.
    std::vector<size_t> chains;
    for (const simt::GraphNode& node : nodes) {
        size_t before = 0;
        for (const size_t other : node.after)
            before = std::max(before, chains[other]);
        chains.push_back(before + 1);
    }
    return *std::max_element(chains.begin(), chains.end());
}

HostAccessForbidden::HostAccessForbidden()
{
    simt::forbid_host_access(true);
}

HostAccessForbidden::~HostAccessForbidden()
{
    simt::forbid_host_access(false);
}

FailingDevice::FailingDevice(uint64_t calls)
{
    simt::fail_after(calls, cudaErrorLaunchFailure);
}

FailingDevice::~FailingDevice()
{
    simt::stop_failing();
    kernels::cuda::forget_failure();
}

uint64_t device_calls()
{
    return simt::calls();
}

uint64_t overlapping_launches()
{
    return simt::overlapping_launches();
}

uint64_t calls_after_failure()
{
    return simt::calls_after_failure();
}

WithheldMemory::WithheldMemory(size_t bytes)
{
    simt::withhold(bytes);
}

WithheldMemory::~WithheldMemory()
{
    simt::withhold(0);
}

LateDevice::LateDevice()
{
    simt::delay_work(true);
}

LateDevice::~LateDevice()
{
    simt::run_queued();
    simt::delay_work(false);
}

DescendingOrder::DescendingOrder()
{
    simt::set_order(simt::Order::Descending);
}

DescendingOrder::~DescendingOrder()
{
    simt::set_order(simt::Order::Ascending);
}

} // namespace palimpsest::tests
