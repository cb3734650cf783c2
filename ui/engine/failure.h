// Converts exceptions into failures, which the window shows.
#pragma once

#include <exception>

#include "ui/engine/engine_thread.h"

namespace palimpsest::ui {

Failure failure_of(const std::exception& error);

} // namespace palimpsest::ui
