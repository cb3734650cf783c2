#include "app/palimpsest/completion/command_syntax.h"

#include <CLI/CLI.hpp>

namespace palimpsest::app {
namespace {

// Without the name of the environment variable at its end.
std::string meaning_of(const CLI::Option& option)
{
    std::string meaning = option.get_description();
    const std::string variable = " [" + option.get_envname() + "]";
    if (meaning.ends_with(variable)) meaning.resize(meaning.size() - variable.size());
    return meaning;
}

OptionSyntax option_syntax(const std::string& path, const CLI::Option& option)
{
    OptionSyntax syntax{.names = {},
                        .meaning = meaning_of(option),
                        .takes_value = option.get_items_expected_max() > 0,
                        .is_repeatable = option.get_items_expected_max() > 1,
                        .source = value_source(path, option)};
    for (const std::string& name : option.get_snames())
        syntax.names.push_back("-" + name);
    for (const std::string& name : option.get_lnames())
        syntax.names.push_back("--" + name);
    return syntax;
}

void add_command(const CLI::App& command, const std::string& path, std::vector<CommandSyntax>& all)
{
    CommandSyntax syntax{.path = path};
    std::vector<const CLI::App*> below;
    for (const CLI::App* subcommand : command.get_subcommands({})) {
        if (subcommand->get_group().empty()) continue;
        syntax.subcommands.push_back({subcommand->get_name(), subcommand->get_description()});
        below.push_back(subcommand);
    }
    for (const CLI::Option* option : command.get_options()) {
        if (option->get_group().empty()) continue;
        if (option->get_positional())
            syntax.arguments.push_back(
                {option->get_name(true), option->get_items_expected_max() > 1, value_source(path, *option)});
        else
            syntax.options.push_back(option_syntax(path, *option));
    }
    all.push_back(std::move(syntax));
    for (const CLI::App* subcommand : below)
        add_command(*subcommand, path.empty() ? subcommand->get_name() : path + " " + subcommand->get_name(), all);
}

} // namespace

std::vector<CommandSyntax> command_syntax(const CLI::App& program)
{
    std::vector<CommandSyntax> all;
    add_command(program, "", all);
    all.front().arguments.push_back({"FILE", true, {ValueKind::Files}}); // those that the window opens
    return all;
}

} // namespace palimpsest::app
