// The CUDA backend on the emulator.
#pragma once

#include <cstdint>
#include <memory>

#include "kernels/backend.h"
#include "tests/support/simt/traffic.h"

namespace palimpsest::tests {

// `capability`: compute capability that the device reports, 90 for sm_90; it decides, for example, whether BF16
// operands stay BF16.
// `compiled_for`: capability that the code was compiled for; 0: the device's own.
std::unique_ptr<kernels::Backend> open_emulated_cuda(int capability, int compiled_for = 0);

// Like open_emulated_cuda, with a driver that does not report what the code was compiled for.
std::unique_ptr<kernels::Backend> open_cuda_without_ptx_version(int capability, int compiled_for = 0);

// Records the largest block size of all launches during its lifetime.
class LaunchedThreads {
public:
    LaunchedThreads();
    int most() const;
};

// Number of kernels and copies in a recording of the emulated backend.
size_t recorded_nodes(const kernels::Recording& recording);
// Length of the longest chain of kernels and copies in which each depends on the one before.
size_t longest_chain(const kernels::Recording& recording);
// During its lifetime, accesses to device memory outside of kernels and copies crash.
class HostAccessForbidden {
public:
    HostAccessForbidden();
    ~HostAccessForbidden();
    HostAccessForbidden(const HostAccessForbidden&) = delete;
    HostAccessForbidden& operator=(const HostAccessForbidden&) = delete;
};

// Makes the device fail: after `calls` more calls, every call fails. The destructor simulates a new process, in
// which the device works.
class FailingDevice {
public:
    explicit FailingDevice(uint64_t calls);
    ~FailingDevice();
    FailingDevice(const FailingDevice&) = delete;
    FailingDevice& operator=(const FailingDevice&) = delete;
};
uint64_t device_calls();         // so far
uint64_t overlapping_launches(); // so far; kernels that may begin before their predecessors end
uint64_t calls_after_failure();  // calls after the failure that free or destroy something
// During its lifetime another program occupies this much of the device's memory.
class WithheldMemory {
public:
    explicit WithheldMemory(size_t bytes);
    ~WithheldMemory();
    WithheldMemory(const WithheldMemory&) = delete;
    WithheldMemory& operator=(const WithheldMemory&) = delete;
};

// During its lifetime, work runs only when the host waits for it. Until then, the host memory that a download
// writes to is undefined.
class LateDevice {
public:
    LateDevice();
    ~LateDevice();
    LateDevice(const LateDevice&) = delete;
    LateDevice& operator=(const LateDevice&) = delete;
};

// During its lifetime, threads and blocks run in descending order.
class DescendingOrder {
public:
    DescendingOrder();
    ~DescendingOrder();
    DescendingOrder(const DescendingOrder&) = delete;
    DescendingOrder& operator=(const DescendingOrder&) = delete;
};

} // namespace palimpsest::tests
