#include "app/palimpsest/completion/shell_scripts.h"

namespace palimpsest::app {
namespace {

constexpr const char* zsh_functions = R"script(
# The last argument says which names; those before it are options of compadd.
__palimpsest_names()
{
    local name meaning
    local -a names shown after
    [[ $argv[-1] == *-list ]] && after=(--after "$PREFIX") && set -- "$@[1,-2]" -S '' "${argv[-1]%-list}"
    while IFS=$'\t' read -r name meaning; do
        names+=("$name")
        shown+=("$name${meaning:+  -- $meaning}")
    done < <(command palimpsest completions --names $argv[-1] $after 2>/dev/null </dev/null)
    compadd "$@[1,-2]" -l -d shown -a names
}

__palimpsest_models()
{
    __palimpsest_names "$@" models || _files "$@" -g '(#i)*.gguf'
}

# The file is the body of _palimpsest when zsh finds it by itself, and defines it when it is sourced.
if [[ $funcstack[1] == _palimpsest ]]; then
    _palimpsest "$@"
else
    compdef _palimpsest palimpsest
fi
)script";

// A text within single quotes and within the brackets or parts of a specification of _arguments.
std::string zsh_text(const std::string& text)
{
    std::string out;
    for (const char c : text) {
        if (c == '\'')
            out += "'\\''";
        else if (c == '\\' || c == '[' || c == ']' || c == ':')
            out += std::string("\\") + c;
        else
            out += c;
    }
    return out;
}

std::string zsh_action(const ValueSource& source)
{
    switch (source.kind) {
    case ValueKind::Words:
        return "(" + spaced(source.words) + ")";
    case ValueKind::Names:
        return "__palimpsest_names " + source.words.front();
    case ValueKind::List:
        return "__palimpsest_names " + source.words.front() + "-list";
    case ValueKind::Models:
        return "__palimpsest_models";
    case ValueKind::Files: {
        if (source.words.empty()) return "_files";
        std::string endings;
        for (const std::string& word : source.words)
            endings += (endings.empty() ? "" : "|") + word;
        return "_files -g \"(#i)*.(" + endings + ")\"";
    }
    case ValueKind::Free:
        break;
    }
    return " ";
}

std::string function_of(const std::string& path)
{
    std::string name = "_palimpsest";
    for (const char c : path.empty() ? path : " " + path)
        name += c == ' ' ? '_' : c;
    return name;
}

// Every name of an option excludes the others and itself, unless it can be repeated.
void write_zsh_option(const OptionSyntax& option, std::ostream& out)
{
    for (const std::string& name : option.names) {
        out << " \\\n        '";
        out << (option.is_repeatable ? "*" : "(" + spaced(option.names) + ")");
        out << name << (option.takes_value && name.starts_with("--") ? "=" : "") << '[' << zsh_text(option.meaning)
            << ']';
        if (option.takes_value) out << ":value:" << zsh_action(option.source);
        out << "'";
    }
}

void write_zsh_subcommands(const CommandSyntax& command, std::ostream& out)
{
    const std::string function = function_of(command.path);
    out << " \\\n        '1: :" << function << "_subcommands' '*::argument:" << function << "_arguments'\n}\n\n"
        << function << "_subcommands()\n{\n    local -a subcommands=(";
    for (const SubcommandSyntax& subcommand : command.subcommands)
        out << "\n        '" << subcommand.name << ':' << zsh_text(subcommand.meaning) << "'";
    out << "\n    )\n    _describe -t subcommands subcommand subcommands";
    for (const ArgumentSyntax& argument : command.arguments)
        out << " || " << zsh_action(argument.source);
    out << "\n}\n\n"
        << function << "_arguments()\n{\n    local command=$words[1]\n"
        << "    (( $+functions[" << function << "_$command] )) && " << function << "_$command\n}\n\n";
}

void write_zsh_arguments(const CommandSyntax& command, std::ostream& out)
{
    for (size_t i = 0; i < command.arguments.size(); ++i) {
        const ArgumentSyntax& argument = command.arguments[i];
        out << " \\\n        '" << (argument.is_repeatable ? "*" : std::to_string(i + 1)) << ':'
            << zsh_text(argument.name) << ':' << zsh_action(argument.source) << "'";
    }
    out << "\n}\n\n";
}

} // namespace

void write_zsh_script(const std::vector<CommandSyntax>& commands, std::ostream& out)
{
    out << "#compdef palimpsest\n# Completes the arguments of palimpsest in zsh. Made by `palimpsest completions "
           "zsh`.\n\n";
    for (const CommandSyntax& command : commands) {
        out << function_of(command.path) << "()\n{\n    _arguments -S";
        for (const OptionSyntax& option : command.options)
            write_zsh_option(option, out);
        command.subcommands.empty() ? write_zsh_arguments(command, out) : write_zsh_subcommands(command, out);
    }
    out << (zsh_functions + 1);
}

} // namespace palimpsest::app
