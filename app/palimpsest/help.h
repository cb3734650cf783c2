// The language of --help.
#pragma once

namespace CLI {
class App;
}

namespace palimpsest::app {

class CommandWording;

// Replaces descriptions, groups and the formatter's labels of a command and of those below it; names of options,
// variables and subcommands stay.
void translate_help(CLI::App& command, const CommandWording& wording);

} // namespace palimpsest::app
