// The GPU section of `doctor`: plugin, driver, devices, and why none is used.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace palimpsest::app {

struct GpuReport {
    std::string found;  // one line
    std::string remedy; // empty if a GPU can be used
    nlohmann::ordered_json facts;
};

// Opens the device that `auto` selects, to verify that it works.
GpuReport gpu_report();

} // namespace palimpsest::app
