// What `doctor` says of graphics cards: the plugin, the driver, every card, and why none is used.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace palimpsest::app {

struct GpuReport {
    std::string found;  // one line
    std::string remedy; // empty where a card is used
    nlohmann::ordered_json facts;
};

// Opens the card that `auto` takes, to see that it can be used.
GpuReport gpu_report();

} // namespace palimpsest::app
