// What of CUDA this machine has, and why it cannot be used where it cannot.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace palimpsest::kernels::cuda {

inline constexpr int least_capability = 75;

struct Refusal {
    std::string problem;
    std::string remedy;
};

struct Driver {
    std::string release; // 580.65.06, where the system says it
    int version = 0;     // newest CUDA it can run, 13000: 13.0; 0: there is none
    int runtime_version = 0;
    int devices = 0;
    std::optional<Refusal> refusal; // why none can be used
};
// Also the first touch of the driver, which may take a second. Throws nothing.
Driver find_driver();

// Why this device cannot be used, if so. REQUIRES: the driver was not refused.
std::optional<Refusal> refusal_of(int device, const Driver& driver);

struct DeviceFacts {
    std::string name;
    int capability = 0, multiprocessors = 0;
    size_t memory_bytes = 0, free_bytes = 0;
};
DeviceFacts facts_of(int device); // zeros for what cannot be asked

} // namespace palimpsest::kernels::cuda
