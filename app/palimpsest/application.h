// The command: parses, runs one subcommand, turns errors into one line and an exit code (cli.md).
#pragma once

#include <string>
#include <vector>

#include "app/palimpsest/console.h"

namespace palimpsest::app {

// `arguments` without the program's name. Returns the exit code; an interrupted command answers `interrupted_code`.
int run(const std::vector<std::string>& arguments, Console& console, int (*interrupted_code)() = nullptr);

} // namespace palimpsest::app
