// The exit codes of the command: one for each kind of error, and 130 or 143 for an interruption (interrupt.h).
#pragma once

#include "kernels/base/error.h"

namespace palimpsest::app {

int exit_code_of(ErrorKind kind);

} // namespace palimpsest::app
