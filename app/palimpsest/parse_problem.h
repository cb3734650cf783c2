// What CLI11 finds wrong with a command line, in sentences that are translated.
#pragma once

#include "kernels/base/text.h"

namespace CLI {
class ParseError;
}

namespace palimpsest::app {

// A message that is not known stays as CLI11 words it.
Text parse_problem(const CLI::ParseError& error);

} // namespace palimpsest::app
