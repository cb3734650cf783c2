// When the command is the window: without a subcommand, where there is a display and this build has one.
#pragma once

#include <string>
#include <vector>

namespace palimpsest::app {

// Nothing was given, or files that are there, as a file manager gives them; `--` before them is understood.
bool wants_window(const std::vector<std::string>& arguments);

// Returns the exit code. REQUIRES: wants_window.
int run_window(int argc, char** argv, const std::vector<std::string>& arguments);

} // namespace palimpsest::app
