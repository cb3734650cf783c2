// The subcommands, options and values of the program, read from the definitions of its options. The completion
// scripts of the shells are made from them.
#pragma once

#include <string>
#include <vector>

#include "app/palimpsest/completion/value_source.h"

namespace CLI {
class App;
}

namespace palimpsest::app {

struct OptionSyntax {
    std::vector<std::string> names; // "-h", "--help"
    std::string meaning{};          // in English
    bool takes_value = false;
    bool is_repeatable = false;
    ValueSource source{};
};

struct ArgumentSyntax {
    std::string name; // "FILE"
    bool is_repeatable = false;
    ValueSource source{};
};

struct SubcommandSyntax {
    std::string name, meaning;
};

struct CommandSyntax {
    std::string path; // the words after the program's name: "", "ask", "sessions show"
    std::vector<SubcommandSyntax> subcommands{};
    std::vector<OptionSyntax> options{};
    std::vector<ArgumentSyntax> arguments{}; // only the last one is repeatable
};

// The program itself and all its subcommands, without what the help hides. Every command comes before those below
// it.
std::vector<CommandSyntax> command_syntax(const CLI::App& program);

} // namespace palimpsest::app
