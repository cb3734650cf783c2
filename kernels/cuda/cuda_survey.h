// The CUDA driver and devices of this machine, and the reason if they cannot be used.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kernels/base/text.h"

namespace palimpsest::kernels::cuda {

inline constexpr int least_capability = 75;

struct Refusal {
    Text problem;
    Text remedy;
};

struct Driver {
    std::string release; // 580.65.06; empty if the system does not report it
    int version = 0;     // newest CUDA version it supports, 13000: 13.0; 0: no driver
    int runtime_version = 0;
    int devices = 0;
    std::optional<Refusal> refusal; // set if no device can be used, with the reason
};
// Finds the driver. The first call initialises it, which may take a second. Does not throw.
Driver find_driver();

// Returns why this device cannot be used; nullopt if it can. REQUIRES: the driver was not refused.
std::optional<Refusal> refusal_of(int device, const Driver& driver);

struct DeviceFacts {
    std::string name;
    int capability = 0, multiprocessors = 0;
    size_t memory_bytes = 0, free_bytes = 0;
};
DeviceFacts facts_of(int device); // zero or empty for values that the driver does not report

} // namespace palimpsest::kernels::cuda
