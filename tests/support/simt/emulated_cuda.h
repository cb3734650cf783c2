// The CUDA backend on the emulator.
#pragma once

#include <cstdint>
#include <memory>

#include "kernels/backend.h"
#include "tests/support/simt/traffic.h"

namespace palimpsest::tests {

// `capability`: what the device says of itself, 90 for sm_90; it decides the operands of some products.
// `compiled_for`: what its code was compiled for; 0: for itself.
std::unique_ptr<kernels::Backend> open_emulated_cuda(int capability, int compiled_for = 0);

// Whose driver does not say what its code was compiled from.
std::unique_ptr<kernels::Backend> open_taciturn_cuda(int capability, int compiled_for = 0);

// The most threads of a block that was launched while it lives.
class LaunchedThreads {
public:
    LaunchedThreads();
    int most() const;
};

// Kernels and copies that a recording of such a backend runs.
size_t recorded_nodes(const kernels::Recording& recording);
// Of these, the most that have to run one after the other.
size_t longest_chain(const kernels::Recording& recording);
// While it lives, whoever touches device memory outside of kernels and copies ends the program.
class HostKeptOut {
public:
    HostKeptOut();
    ~HostKeptOut();
    HostKeptOut(const HostKeptOut&) = delete;
    HostKeptOut& operator=(const HostKeptOut&) = delete;
};

// While it lives, the device is one that fails: the call after so many more, and all after that. Then it is a new
// process.
class FailingDevice {
public:
    explicit FailingDevice(uint64_t calls);
    ~FailingDevice();
    FailingDevice(const FailingDevice&) = delete;
    FailingDevice& operator=(const FailingDevice&) = delete;
};
uint64_t device_calls();         // so far
uint64_t overlapping_launches(); // so far: kernels that may begin before those ahead of them end
uint64_t calls_after_failure();  // of a FailingDevice, that would free or destroy something
// While it lives, so much of the device's memory is another program's.
class WithheldMemory {
public:
    explicit WithheldMemory(size_t bytes);
    ~WithheldMemory();
    WithheldMemory(const WithheldMemory&) = delete;
    WithheldMemory& operator=(const WithheldMemory&) = delete;
};

// While it lives, the device is slow: work runs no sooner than the host waits for it, and what a copy will
// overwrite on the host has no meaning until then.
class LateDevice {
public:
    LateDevice();
    ~LateDevice();
    LateDevice(const LateDevice&) = delete;
    LateDevice& operator=(const LateDevice&) = delete;
};

// Runs threads and blocks in descending order while it lives.
class DescendingOrder {
public:
    DescendingOrder();
    ~DescendingOrder();
    DescendingOrder(const DescendingOrder&) = delete;
    DescendingOrder& operator=(const DescendingOrder&) = delete;
};

} // namespace palimpsest::tests
