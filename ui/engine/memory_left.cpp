#include "ui/engine/memory_left.h"

#include <fstream>
#include <string>

namespace palimpsest::ui {

uint64_t memory_of_machine()
{
    std::ifstream lines("/proc/meminfo");
    std::string key, unit;
    for (uint64_t kib = 0; lines >> key >> kib; std::getline(lines, unit))
        if (key == "MemAvailable:") return kib * 1024;
    return UINT64_MAX;
}

uint64_t memory_left(const engine::Model& model)
{
    const auto device = model.backend().memory();
    return device ? device->free - device->free / 32 : memory_of_machine();
}

} // namespace palimpsest::ui
