#include <algorithm>

#include "app/palimpsest/completion/shell_scripts.h"

namespace palimpsest::app {
namespace {

constexpr const char* fish_functions = R"script(
# Prints the words before the cursor that are no options and no values of options.
function __palimpsest_words
    set -l skip 0
    for word in (commandline -opc)[2..]
        if test $skip = 1
            set skip 0
        else if string match -q -- '-*' $word
            contains -- $word $__palimpsest_value_options; and set skip 1
        else
            echo $word
        end
    end
end

# Whether the words before the cursor are those given, and nothing else.
function __palimpsest_is
    test "$(__palimpsest_words | string join ' ')" = "$argv"
end

# Whether the words before the cursor begin with those given.
function __palimpsest_in
    set -l words (__palimpsest_words)
    test (count $words) -ge (count $argv); and test "$words[1..$(count $argv)]" = "$argv"
end

# Whether the argument of this number is due, counted from 1 after the words of the command.
function __palimpsest_due
    __palimpsest_in $argv[2..]; and test (count (__palimpsest_words)) = (math (count $argv) - 2 + $argv[1])
end

function __palimpsest_names
    command palimpsest completions --names $argv 2>/dev/null </dev/null
end

# Files with one of the endings, and folders; all files if there are none.
function __palimpsest_files
    set -l files (complete -C "__fish_command_without_completions "(commandline -ct))
    set -l fitting (string match -ri -- '^.*(?:/|\.(?:'(string join '|' $argv)'))(?:\t.*)?$' $files)
    test (count $fitting) -gt 0; or set fitting $files
    printf '%s\n' $fitting
end

)script";

std::string fish_text(const std::string& text)
{
    std::string out = "'";
    for (const char c : text) {
        if (c == '\'' || c == '\\') out += '\\';
        out += c;
    }
    return out + "'";
}

std::string fish_values(const ValueSource& source)
{
    switch (source.kind) {
    case ValueKind::Words:
        return " -f -a " + fish_text(spaced(source.words));
    case ValueKind::Names:
        return " -f -k -a '(__palimpsest_names " + source.words.front() + ")'";
    case ValueKind::List:
        return " -f -k -a '(__palimpsest_names " + source.words.front() + " --after (commandline -ct))'";
    case ValueKind::Models:
        return " -f -k -a '(__palimpsest_names models; __palimpsest_files gguf)'";
    case ValueKind::Files:
        return source.words.empty() ? " -F" : " -f -k -a '(__palimpsest_files " + spaced(source.words) + ")'";
    case ValueKind::Free:
        break;
    }
    return " -f";
}

void write_fish_command(const CommandSyntax& command, std::ostream& out)
{
    const std::string begin = "complete -c palimpsest -n '";
    for (const SubcommandSyntax& subcommand : command.subcommands)
        out << begin << "__palimpsest_is " << command.path << "' -f -a " << subcommand.name << " -d "
            << fish_text(subcommand.meaning) << '\n';
    for (const OptionSyntax& option : command.options) {
        out << begin << (command.subcommands.empty() ? "__palimpsest_in " : "__palimpsest_is ") << command.path
            << "'";
        for (const std::string& name : option.names)
            out << (name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1));
        if (option.takes_value) out << " -r" << fish_values(option.source);
        out << " -d " << fish_text(option.meaning) << '\n';
    }
    for (size_t i = 0; i < command.arguments.size(); ++i) {
        const ArgumentSyntax& argument = command.arguments[i];
        const std::string due = argument.is_repeatable
                                    ? (command.path.empty() ? "__palimpsest_is" : "__palimpsest_in")
                                    : "__palimpsest_due " + std::to_string(i + 1);
        out << begin << due << ' ' << command.path << "'" << fish_values(argument.source) << '\n';
    }
}

} // namespace

void write_fish_script(const std::vector<CommandSyntax>& commands, std::ostream& out)
{
    std::vector<std::string> with_value;
    for (const CommandSyntax& command : commands)
        for (const OptionSyntax& option : command.options)
            if (option.takes_value) with_value.insert(with_value.end(), option.names.begin(), option.names.end());
    std::sort(with_value.begin(), with_value.end());
    with_value.erase(std::unique(with_value.begin(), with_value.end()), with_value.end());

    out << "# Completes the arguments of palimpsest in fish. Made by `palimpsest completions fish`.\n\n"
           "complete -c palimpsest -f\n"
           "set -g __palimpsest_value_options "
        << spaced(with_value) << '\n'
        << fish_functions;
    for (const CommandSyntax& command : commands)
        write_fish_command(command, out);
}

} // namespace palimpsest::app
