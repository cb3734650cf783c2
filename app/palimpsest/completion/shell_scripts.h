// Scripts with which shells complete the arguments of `palimpsest`. They contain subcommands, options and fixed
// values, and ask `palimpsest completions --names` for those that are stored or found on the machine.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "app/palimpsest/completion/command_syntax.h"

namespace palimpsest::app {

void write_bash_script(const std::vector<CommandSyntax>& commands, std::ostream& out); // bash 4.4 or newer
void write_zsh_script(const std::vector<CommandSyntax>& commands, std::ostream& out);
void write_fish_script(const std::vector<CommandSyntax>& commands, std::ostream& out);

// Words with spaces between them.
std::string spaced(const std::vector<std::string>& words);

} // namespace palimpsest::app
