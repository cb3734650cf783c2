// One subcommand: the constructor defines its options, CLI11 parses them, and run() uses them.
#pragma once

#include <memory>
#include <string>

#include "app/palimpsest/console.h"

namespace CLI {
class App;
}

namespace palimpsest::app {

class Command {
public:
    virtual ~Command() = default;
    virtual bool chosen() const = 0;
    virtual void run(Console& console) = 0; // throws Error, or storage::Interrupted
    virtual bool wants_json() const { return false; }
    virtual bool wants_events() const { return false; }
};

using MakeCommand = std::unique_ptr<Command> (*)(CLI::App& parent);
std::unique_ptr<Command> make_summarize(CLI::App& parent);
std::unique_ptr<Command> make_ask(CLI::App& parent);
std::unique_ptr<Command> make_find(CLI::App& parent);
std::unique_ptr<Command> make_read(CLI::App& parent);
std::unique_ptr<Command> make_chat(CLI::App& parent);
std::unique_ptr<Command> make_library(CLI::App& parent);
std::unique_ptr<Command> make_sessions(CLI::App& parent);
std::unique_ptr<Command> make_inspect(CLI::App& parent);
std::unique_ptr<Command> make_compare(CLI::App& parent);
std::unique_ptr<Command> make_eval(CLI::App& parent);
std::unique_ptr<Command> make_eval_ppl(CLI::App& parent); // parts of eval
std::unique_ptr<Command> make_eval_needle(CLI::App& parent);
std::unique_ptr<Command> make_eval_recall(CLI::App& parent);
std::unique_ptr<Command> make_eval_attention_recall(CLI::App& parent);
std::unique_ptr<Command> make_eval_spectrum(CLI::App& parent);
std::unique_ptr<Command> make_eval_tasks(CLI::App& parent);
std::unique_ptr<Command> make_eval_ruler(CLI::App& parent);
std::unique_ptr<Command> make_tokenize(CLI::App& parent);
std::unique_ptr<Command> make_models(CLI::App& parent);
std::unique_ptr<Command> make_policies(CLI::App& parent);
std::unique_ptr<Command> make_doctor(CLI::App& parent);
std::unique_ptr<Command> make_completions(CLI::App& parent);
std::unique_ptr<Command> make_manual(CLI::App& parent);

} // namespace palimpsest::app
