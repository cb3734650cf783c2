// A graphics card that failed for good: it is not used again in this process, and work goes on on the CPU
// (reliability.md, P13).
#pragma once

#include <string>

#include "app/palimpsest/console.h"
#include "kernels/base/error.h"

namespace palimpsest::app {

bool is_device_loss(const Error& error);

// The one sentence, or an event.
void tell_device_loss(Console& console, bool events, const std::string& device);

} // namespace palimpsest::app
