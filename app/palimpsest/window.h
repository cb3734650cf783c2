// Decides whether to open the window: without a subcommand, if there is a display and the build contains the
// window.
#pragma once

#include <string>
#include <vector>

namespace palimpsest::app {

// True without arguments, or if all arguments are paths of existing files, as a file manager passes them; a leading
// `--` is accepted.
bool wants_window(const std::vector<std::string>& arguments);

// Returns the exit code. REQUIRES: wants_window.
int run_window(int argc, char** argv, const std::vector<std::string>& arguments);

} // namespace palimpsest::app
