// The command-line program: parses arguments, runs one subcommand, and converts errors into one line and an exit
// code.
#pragma once

#include <string>
#include <vector>

#include "app/palimpsest/console.h"

namespace palimpsest::app {

// `arguments` without the program's name. Returns the exit code; after an interruption, the result of
// `interrupted_code`, or 130.
int run(const std::vector<std::string>& arguments, Console& console, int (*interrupted_code)() = nullptr);

} // namespace palimpsest::app
