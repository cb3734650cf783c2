// `eval ruler`: writes synthetic questions of any length, as JSON lines that `eval tasks` reads.

#include <CLI/CLI.hpp>

#include "app/palimpsest/chosen_model.h"
#include "app/palimpsest/command.h"
#include "app/palimpsest/common_options.h"
#include "app/palimpsest/output.h"
#include "app/palimpsest/task_turns.h"
#include "engine/eval/ruler_sample.h"
#include "engine/eval/task_prompt.h"
#include "storage/interrupted.h"

namespace palimpsest::app {
namespace {

using nlohmann::ordered_json;

std::vector<std::string> ruler_task_names()
{
    std::vector<std::string> names;
    for (const engine::RulerTask task : engine::ruler_tasks())
        names.emplace_back(name_of(task));
    return names;
}

class EvalRuler final : public Command {
public:
    explicit EvalRuler(CLI::App& parent)
    {
        command_ = parent.add_subcommand("ruler", "write synthetic questions of any length for 'eval tasks'");
        command_->add_option("--task", task_, "what is asked for")
            ->required()
            ->check(CLI::IsMember(ruler_task_names()));
        command_->add_option("--length", length_, "the most tokens of text, question, turns and answer, such as 4k")
            ->capture_default_str();
        command_->add_option("--samples", samples_, "how many questions")
            ->capture_default_str()
            ->check(CLI::Range(uint64_t{1}, uint64_t{100000}));
        command_->add_option("--seed", seed_, "chooses words and numbers")->capture_default_str();
        add_backend_options(*command_, common_);
    }
    bool chosen() const override { return command_->parsed(); }

    void run(Console& console) override
    {
        const uint64_t length = parse_length("--length", length_);
        const auto model = load_chosen_model(common_, console);
        const engine::ChatTemplate turns = task_turns(*model, false);
        const engine::RulerTask task = *engine::ruler_task(task_);
        for (uint64_t i = 0; i < samples_; ++i) {
            const auto tokens = [&](const engine::RulerSample& sample) {
                if (console.stop.stop_requested())
                    throw storage::Interrupted{Text("stopped after {0} of {1} questions", i, samples_)};
                return asked_tokens(sample, *model->tokenizer(), turns);
            };
            const auto sample = engine::fit_ruler_sample(task, seed_ + 1000003 * i, length, tokens);
            write_line(sample, i, tokens(sample), console);
        }
    }

private:
    // All that `eval tasks` makes of it.
    uint64_t asked_tokens(const engine::RulerSample& sample, const engine::Tokenizer& tokenizer,
                          const engine::ChatTemplate& turns) const
    {
        const engine::TaskLine line =
            *engine::ruler_line(task_, sample.input, sample.answer_prefix, sample.answers);
        const engine::TaskText text = make_task_text(line, {"", line.defaults.question}, tokenizer, turns, {});
        return text.context.size() + text.longest_question() + static_cast<uint64_t>(line.defaults.max_tokens);
    }

    void write_line(const engine::RulerSample& sample, uint64_t index, uint64_t tokens, Console& console) const
    {
        const ordered_json line = {{"index", index},        {"task", task_},
                                   {"input", sample.input}, {"outputs", sample.answers},
                                   {"length", tokens},      {"answer_prefix", sample.answer_prefix}};
        console.out << line.dump() << '\n';
        finish_output(console.out);
    }

    CLI::App* command_ = nullptr;
    CommonOptions common_;
    std::string task_, length_ = "4k";
    uint64_t samples_ = 20, seed_ = 0;
};

} // namespace

std::unique_ptr<Command> make_eval_ruler(CLI::App& parent)
{
    return std::make_unique<EvalRuler>(parent);
}

} // namespace palimpsest::app
