// `eval`: measurements, each a subcommand.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <vector>

#include "app/palimpsest/command.h"

namespace palimpsest::app {
namespace {

class Eval final : public Command {
public:
    explicit Eval(CLI::App& parent)
    {
        CLI::App* eval = parent.add_subcommand("eval", "measurements");
        eval->require_subcommand(1);
        for (const MakeCommand make :
             {make_eval_ppl, make_eval_needle, make_eval_recall, make_eval_attention_recall, make_eval_spectrum,
              make_eval_tasks, make_eval_ruler})
            parts_.push_back(make(*eval));
    }
    bool chosen() const override { return part() != nullptr; }
    bool wants_json() const override { return part()->wants_json(); }
    bool wants_events() const override { return part()->wants_events(); }
    void run(Console& console) override { part()->run(console); }

private:
    Command* part() const
    {
        const auto found = std::ranges::find_if(parts_, [](const auto& part) { return part->chosen(); });
        return found == parts_.end() ? nullptr : found->get();
    }

    std::vector<std::unique_ptr<Command>> parts_;
};

} // namespace

std::unique_ptr<Command> make_eval(CLI::App& parent)
{
    return std::make_unique<Eval>(parent);
}

} // namespace palimpsest::app
