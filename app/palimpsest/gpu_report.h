// The GPU section of `doctor`: the plugin, the driver, the devices, and why no GPU is used.
#pragma once

#include "kernels/base/text.h"
#include <nlohmann/json.hpp>

namespace palimpsest::app {

struct GpuReport {
    Text found;  // one line
    Text remedy; // empty if a GPU can be used
    nlohmann::ordered_json facts;
};

// Opens the device that `auto` selects, to verify that it works.
GpuReport gpu_report();

} // namespace palimpsest::app
