// The program's own translatable sentences for CLI11's errors about a command line.
#pragma once

#include "kernels/base/text.h"

namespace CLI {
class ParseError;
}

namespace palimpsest::app {

// Returns a sentence for the error; if none is written for it, CLI11's own English message.
Text parse_problem(const CLI::ParseError& error);

} // namespace palimpsest::app
