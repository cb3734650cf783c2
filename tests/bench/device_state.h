// Memory and kernels of this process, counted by those who give and run them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace palimpsest::bench {

struct DeviceState {
    uint64_t used_bytes = 0; // of the card, as its driver says: other processes count
    uint64_t launches = 0;   // of kernels of the plugin's own so far
};

// None for the CPU.
std::optional<DeviceState> device_state(const std::string& device);

// Memory of this process that no file backs; 0 where the system does not say.
uint64_t host_bytes();

} // namespace palimpsest::bench
