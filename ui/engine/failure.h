// Converts errors into sentences for the window.
#pragma once

#include <exception>

#include "kernels/base/error.h"
#include "ui/engine/engine_thread.h"

namespace palimpsest::ui {

Failure failure_of(const std::exception& error);

// The sentence of an error. A remedy that names a command-line option is replaced by what to do in the window.
QString window_sentence(const Error& error);

// Codes of errors that have a remedy for the window.
QStringList codes_with_remedy();

} // namespace palimpsest::ui
