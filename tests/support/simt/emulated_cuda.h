// The CUDA backend on the emulator.
#pragma once

#include <memory>

#include "kernels/backend.h"

namespace palimpsest::tests {

// `capability`: what the device says of itself, 90 for sm_90; it decides the operands of some products.
std::unique_ptr<kernels::Backend> open_emulated_cuda(int capability);

// Kernels and copies that a recording of such a backend runs.
size_t recorded_nodes(const kernels::Recording& recording);

// Runs threads and blocks in descending order while it lives.
class DescendingOrder {
public:
    DescendingOrder();
    ~DescendingOrder();
    DescendingOrder(const DescendingOrder&) = delete;
    DescendingOrder& operator=(const DescendingOrder&) = delete;
};

} // namespace palimpsest::tests
