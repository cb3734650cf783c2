// `completions`: prints the script with which a shell completes the arguments of the program. The scripts ask it
// with the hidden --names for what exists on the machine: a name a line, and after a tab what it is.

#include <CLI/CLI.hpp>

#include "app/palimpsest/command.h"
#include "app/palimpsest/common_options.h"
#include "app/palimpsest/completion/offered_names.h"
#include "app/palimpsest/completion/shell_scripts.h"
#include "kernels/base/error.h"

namespace palimpsest::app {
namespace {

class Completions final : public Command {
public:
    explicit Completions(CLI::App& parent) : parent_(parent)
    {
        command_ = parent.add_subcommand(
            "completions", "print the script with which a shell completes the arguments of this program");
        command_->add_option("SHELL", shell_, "bash, zsh or fish")->check(CLI::IsMember({"bash", "zsh", "fish"}));
        command_->add_option("--names", names_)
            ->check(CLI::IsMember({"sessions", "documents", "models", "policies", "simd"}))
            ->group(""); // hides it in the help
        command_->add_option("--after", typed_)->group("");
        command_->add_option("--db", database_)->envname("PALIMPSEST_DB")->group("");
    }
    bool chosen() const override { return command_->parsed(); }

    void run(Console& console) override
    {
        if (!names_.empty()) return print_names(console.out);
        if (shell_.empty())
            throw Error(ErrorKind::Usage, ErrorCode::InvalidArguments, Text::verbatim("completions"),
                        Text("no shell is named"), Text("give bash, zsh or fish"));
        const std::vector<CommandSyntax> commands = command_syntax(parent_);
        if (shell_ == "bash") return write_bash_script(commands, console.out);
        if (shell_ == "zsh") return write_zsh_script(commands, console.out);
        write_fish_script(commands, console.out);
    }

private:
    // In a list that is separated by commas, what was typed up to the last comma stands before every name.
    void print_names(std::ostream& out) const
    {
        const std::string before = typed_.substr(0, typed_.rfind(',') + 1);
        for (const OfferedName& offered : offered_names(names_, database_))
            out << before << offered.name << '\t' << offered.meaning << '\n';
    }

    CLI::App& parent_;
    CLI::App* command_ = nullptr;
    std::string shell_, names_, typed_, database_;
};

} // namespace

std::unique_ptr<Command> make_completions(CLI::App& parent)
{
    return std::make_unique<Completions>(parent);
}

} // namespace palimpsest::app
