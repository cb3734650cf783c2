// Memory use and kernel launches of this process.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace palimpsest::bench {

struct DeviceState {
    uint64_t used_bytes = 0; // device-wide, from the driver: includes other processes
    uint64_t launches = 0;   // kernel launches of the plugin so far
};

// nullopt for the CPU.
std::optional<DeviceState> device_state(const std::string& device);

// Anonymous memory of this process; 0 if the system does not report it.
uint64_t host_bytes();

} // namespace palimpsest::bench
