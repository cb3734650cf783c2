// What went wrong, in the words of a window.
#pragma once

#include <exception>

#include "kernels/base/error.h"
#include "ui/engine/engine_thread.h"

namespace palimpsest::ui {

Failure failure_of(const std::exception& error);

// An error's sentence. Where its remedy is one for the command line, what to do in the window stands in its place.
QString window_sentence(const Error& error);

// The codes of which the latter is known.
QStringList codes_with_remedy();

} // namespace palimpsest::ui
