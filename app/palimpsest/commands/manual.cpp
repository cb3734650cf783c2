// `manual`: prints the man page, generated from the same definitions as --help; with --policies the policy
// reference of docs/policies.md, generated from the registry. Used by packaging and docs/update.py; hidden in the
// help.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iterator>

#include "app/palimpsest/command.h"
#include "app/palimpsest/output.h"
#include "engine/policy/named/registry.h"

namespace palimpsest::app {
namespace {

// Escapes text for roff: backslashes, hyphens, and a dot or quote at the beginning.
std::string roff(const std::string& text)
{
    std::string out;
    for (const char c : text) {
        if (c == '\\')
            out += "\\e";
        else if (c == '-')
            out += "\\-";
        else
            out += c;
    }
    return out.starts_with('.') || out.starts_with('\'') ? "\\&" + out : out;
}

void print_option(const CLI::Option& option, std::ostream& out)
{
    if (option.get_description().empty() || option.get_name() == "--help") return;
    out << ".TP\n.B " << roff(option.get_name(option.get_positional())) << '\n'
        << roff(option.get_description()) << '\n';
}

// A section for the subcommand (description, positional arguments, options), then those of its subcommands.
void print_command(const CLI::App& command, const std::string& path, std::ostream& out)
{
    const std::string name = path + " " + command.get_name();
    out << ".SS " << roff(name) << '\n' << roff(command.get_description()) << '\n';
    for (const CLI::Option* option : command.get_options())
        print_option(*option, out);
    for (const CLI::App* below : command.get_subcommands({}))
        print_command(*below, name, out);
}

// Escapes text for a cell of a Markdown table.
std::string cell(const std::string& text)
{
    std::string out;
    for (const char c : text)
        out += c == '|' ? std::string("\\|") : std::string(1, c);
    return out;
}

void print_parameters(const std::vector<engine::ParameterInfo>& parameters, std::ostream& out)
{
    if (parameters.empty()) return;
    out << "\n| parameter | meaning | default | range |\n|---|---|---|---|\n";
    for (const engine::ParameterInfo& p : parameters)
        out << "| `" << p.key << "` | " << cell(for_scripts(p.meaning)) << " | "
            << cell(for_scripts(p.default_text)) << " | " << cell(for_scripts(p.range)) << " |\n";
}

bool are_same(const engine::ParameterInfo& a, const engine::ParameterInfo& b)
{
    return a.key == b.key && a.meaning == b.meaning && a.default_text == b.default_text && a.range == b.range;
}

bool is_of_every_policy(const engine::ParameterInfo& parameter)
{
    const auto takes_it = [&](const engine::PolicyInfo& policy) {
        return std::any_of(policy.parameters.begin(), policy.parameters.end(),
                           [&](const engine::ParameterInfo& p) { return are_same(p, parameter); });
    };
    return std::all_of(engine::policies().begin(), engine::policies().end(), takes_it);
}

void print_policy(const engine::PolicyInfo& policy, std::ostream& out)
{
    out << "\n### `" << policy.name << "`\n\n"
        << for_scripts(policy.keeps) << "\n\n- signals: " << for_scripts(policy.signals)
        << "\n- cost: " << for_scripts(policy.cost) << "\n- positions: " << for_scripts(policy.positions) << '\n';
    if (!policy.paper.empty()) out << "- paper: " << for_scripts(policy.paper) << '\n';
    std::vector<engine::ParameterInfo> own;
    std::copy_if(policy.parameters.begin(), policy.parameters.end(), std::back_inserter(own),
                 [](const engine::ParameterInfo& p) { return !is_of_every_policy(p); });
    print_parameters(own, out);
}

void print_policies(std::ostream& out)
{
    std::vector<engine::ParameterInfo> common;
    for (const engine::ParameterInfo& p : engine::policies().front().parameters)
        if (is_of_every_policy(p)) common.push_back(p);
    out << "Every policy takes:\n";
    print_parameters(common, out);
    for (const engine::PolicyInfo& policy : engine::policies())
        print_policy(policy, out);
}

class Manual final : public Command {
public:
    explicit Manual(CLI::App& parent) : parent_(parent)
    {
        command_ = parent.add_subcommand("manual", "print the manual page");
        command_->group(""); // hides it in the help
        command_->add_flag("--policies", policies_, "print the reference of all cache policies, in Markdown");
    }
    bool chosen() const override { return command_->parsed(); }

    void run(Console& console) override { policies_ ? print_policies(console.out) : print_page(console.out); }

private:
    void print_page(std::ostream& out) const
    {
        out << ".TH PALIMPSEST 1 \"\" \"palimpsest " << PALIMPSEST_VERSION << "\"\n"
            << ".SH NAME\npalimpsest \\- read documents of any length with a language model of fixed memory\n"
            << ".SH SYNOPSIS\n.B palimpsest\n[\\fIFILE\\fR...]\n.br\n.B palimpsest\n.I SUBCOMMAND\n"
               "[\\fIOPTION\\fR...]\n.SH DESCRIPTION\n"
               "Without a subcommand it opens its window where there is a display, with the files that are named "
               "by a "
               "path; and prints its help where there is none.\n.PP\n";
        for (const char c : parent_.get_description())
            out << (c == '-' ? "\\-" : std::string(1, c));
        out << "\n.SH SUBCOMMANDS\n";
        for (const CLI::App* command : parent_.get_subcommands({}))
            if (command != command_) print_command(*command, "palimpsest", out);
        out << ".SH EXIT STATUS\n"
            << ".TP\n.B 0\ndone\n.TP\n.B 1\nthe work failed: a document or model cannot be used\n"
            << ".TP\n.B 2\nthe command line is wrong\n.TP\n.B 3\nasked for something that is not there\n"
            << ".TP\n.B 4\nnot enough memory, disk space or GPU memory\n.TP\n.B 70\ninternal error: always a bug\n"
            << ".TP\n.B 130, 143\ninterrupted, terminated\n"
            << ".SH ENVIRONMENT\nEvery common option has a variable, named in its description; an option beats its "
               "variable, which beats config.json, which beats the default. \\fBpalimpsest doctor\\fR prints which "
               "won.\n"
               ".TP\n.B PALIMPSEST_PLUGINS\nfolder of the GPU plugin, \\fIlibpalimpsest-cuda.so\\fR, in place of "
               "that of the program and \\fI../lib/palimpsest\\fR beside it\n"
               ".TP\n.B LC_ALL, LC_MESSAGES, LANG\nthe language of help, errors, notes and results: the first one "
               "that is set and not empty; German (\\fIde\\fR), otherwise English. JSON is in English\n"
            << ".SH FILES\n.TP\n.I $XDG_CONFIG_HOME/palimpsest/config.json\noptions, as a JSON object\n"
            << ".TP\n.I $XDG_DATA_HOME/palimpsest/models/\nmodels that \\fB\\-\\-model\\fR finds by name\n";
    }

    CLI::App& parent_;
    CLI::App* command_ = nullptr;
    bool policies_ = false;
};

} // namespace

std::unique_ptr<Command> make_manual(CLI::App& parent)
{
    return std::make_unique<Manual>(parent);
}

} // namespace palimpsest::app
