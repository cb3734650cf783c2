#include "tests/bench/device_state.h"

#include <cstdlib>
#include <fstream>

#include "kernels/backends/device_plugin.h"

namespace palimpsest::bench {

std::optional<DeviceState> device_state(const std::string& device)
{
    if (!device.starts_with("cuda")) return std::nullopt;
    const int index = device.starts_with("cuda:") ? std::atoi(device.c_str() + 5) : 0;
    kernels::CudaInfo survey;
    const auto problem = kernels::DevicePlugin::find().survey(survey);
    if (problem.code || index < 0 || index >= kernels::CudaInfo::most_devices) return std::nullopt;
    const kernels::CudaDevice& card = survey.devices[index];
    return DeviceState{card.memory_bytes - card.free_bytes, survey.launches};
}

uint64_t host_bytes()
{
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
        if (line.starts_with("RssAnon:")) return std::strtoull(line.c_str() + 8, nullptr, 10) * 1024;
    return 0;
}

} // namespace palimpsest::bench
