#include "app/palimpsest/help.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <string>

#include "app/palimpsest/wording.h"

namespace palimpsest::app {
namespace {

// Translates the words in capitals of a type such as "INT:INT in [0 - 1024]", which is one label for CLI11.
std::string worded_type(const std::string& type, const CLI::FormatterBase& formatter)
{
    std::string out;
    for (size_t at = 0, end = 0; at < type.size(); at = end) {
        while (end < type.size() && std::isupper(static_cast<unsigned char>(type[end])))
            ++end;
        end = std::max(end, at + 1);
        out += formatter.get_label(type.substr(at, end - at));
    }
    return out;
}

// The name of an environment variable at the end of a description is no part of its pattern.
std::string worded_description(const CLI::Option& option, const CommandWording& wording)
{
    std::string meaning = option.get_description();
    const std::string variable = " [" + option.get_envname() + "]";
    if (!meaning.ends_with(variable)) return wording.pattern(meaning);
    meaning.resize(meaning.size() - variable.size());
    return wording.pattern(meaning) + variable;
}

void translate_labels(CLI::FormatterBase& formatter, const CommandWording& wording)
{
    for (const Text& label : {Text("Usage"), Text("OPTIONS"), Text("SUBCOMMAND"), Text("Positionals"), Text("TEXT"),
                              Text("INT"), Text("UINT"), Text("FLOAT"), Text("REQUIRED"), Text("Env"),
                              Text("Excludes"), Text("Options"), Text("Subcommands")})
        formatter.label(label.english(), wording.of(label));
}

void translate_command(CLI::App& command, CLI::FormatterBase& formatter, const CommandWording& wording)
{
    command.description(wording.pattern(command.get_description()));
    command.group(formatter.get_label(command.get_group()));
    for (CLI::Option* option : command.get_options([](const CLI::Option*) { return true; })) {
        option->description(worded_description(*option, wording));
        option->group(formatter.get_label(option->get_group()));
        formatter.label(option->get_type_name(), worded_type(option->get_type_name(), formatter));
    }
    for (CLI::App* below : command.get_subcommands([](const CLI::App*) { return true; }))
        translate_command(*below, formatter, wording);
}

} // namespace

void translate_help(CLI::App& command, const CommandWording& wording)
{
    const auto formatter = command.get_formatter(); // the subcommands share it
    translate_labels(*formatter, wording);
    translate_command(command, *formatter, wording);
}

} // namespace palimpsest::app
