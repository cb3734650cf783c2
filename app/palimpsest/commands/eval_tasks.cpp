// `eval tasks`: the questions of LongBench, L-Eval and RULER about long texts, answered under every policy and
// budget and scored as these projects do.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <map>
#include <optional>
#include <ranges>

#include "app/palimpsest/chosen_model.h"
#include "app/palimpsest/command.h"
#include "app/palimpsest/common_options.h"
#include "app/palimpsest/console_listener.h"
#include "app/palimpsest/journal.h"
#include "app/palimpsest/long_measurement.h"
#include "app/palimpsest/output.h"
#include "app/palimpsest/policy_grid.h"
#include "app/palimpsest/shown_share.h"
#include "app/palimpsest/table.h"
#include "app/palimpsest/task_file.h"
#include "app/palimpsest/task_turns.h"
#include "engine/eval/mean_score.h"
#include "engine/eval/task_prompt.h"
#include "engine/eval/task_reading.h"
#include "kernels/base/byte_quantity.h"
#include "kernels/base/error.h"
#include "storage/hash.h"
#include "storage/session/answer_text.h"
#include "storage/session/protocol.h"
#include "storage/session/reading.h"
#include "storage/session/session_report.h"

namespace palimpsest::app {
namespace {

using engine::MeanScore;
using engine::Protocol;
using engine::TaskMetric;
using engine::TaskText;
using engine::TokenId;
using nlohmann::ordered_json;
using storage::model_json;

struct AskedTask {
    ReadTask read;
    TaskText text;
    int32_t max_tokens = 0;

    const engine::TaskLine& line() const { return read.task; }
    TaskMetric metric() const { return *line().defaults.metric; }
    ordered_json json() const
    {
        ordered_json questions = ordered_json::array();
        for (const engine::TaskQuestion& question : line().questions)
            questions.push_back({{"question", question.input}, {"answers", question.right.answers}});
        return {{"file", read.file},
                {"line", read.line},
                {"form", name_of(line().form)},
                {"dataset", line().dataset},
                {"metric", name_of(metric())},
                {"max_tokens", max_tokens},
                {"tokens", text.own},
                {"cut", text.cut},
                {"questions", questions}};
    }
};

// Questions of one task that one session is asked.
struct Asking {
    const AskedTask* task = nullptr;
    size_t number = 0, first = 0, count = 0; // of the task; of its questions

    std::span<const std::vector<TokenId>> questions() const
    {
        return std::span(task->text.questions).subspan(first, count);
    }
    size_t longest_question() const
    {
        return std::ranges::max(questions() | std::views::transform(&std::vector<TokenId>::size));
    }
    uint64_t stream() const
    {
        return task->text.context.size() + longest_question() + static_cast<uint64_t>(task->max_tokens);
    }
    // The tokens of all questions, and of all answers if each has its full max_tokens.
    uint64_t most_tokens() const
    {
        uint64_t tokens = task->text.context.size() + count * static_cast<uint64_t>(task->max_tokens);
        for (const std::vector<TokenId>& question : questions())
            tokens += question.size();
        return tokens;
    }
    // Equal for equal texts, questions and lengths of answers.
    std::string key() const
    {
        storage::Hasher64 hasher;
        const auto push = [&](std::span<const TokenId> ids) {
            const uint64_t size = ids.size();
            hasher.push(std::as_bytes(std::span(&size, 1)));
            hasher.push(std::as_bytes(ids));
        };
        push(task->text.context);
        for (const std::vector<TokenId>& question : questions())
            push(question);
        return std::to_string(hasher.value()) + "|" + std::to_string(task->max_tokens);
    }
};

struct DatasetScore {
    std::string file, dataset;
    TaskMetric metric;
    MeanScore score{};
    uint64_t too_long = 0; // questions about texts that the policy's lists cannot hold
};

struct PolicyScores {
    PolicyAndBudget setting;
    std::vector<DatasetScore> datasets{};
    ordered_json answers = ordered_json::array();

    DatasetScore& of(const AskedTask& task)
    {
        for (DatasetScore& known : datasets)
            if (known.file == task.read.file && known.dataset == task.line().dataset &&
                known.metric == task.metric())
                return known;
        return datasets.emplace_back(
            DatasetScore{.file = task.read.file, .dataset = task.line().dataset, .metric = task.metric()});
    }
};

std::string first_filled_line(const std::string& text)
{
    const size_t begin = text.find_first_not_of('\n');
    return begin == text.npos ? std::string() : text.substr(begin, text.find('\n', begin) - begin);
}

std::string three_digits(double number)
{
    char text[32];
    std::snprintf(text, sizeof text, "%.3f", number);
    return text;
}

std::vector<std::string> metric_names()
{
    std::vector<std::string> names;
    for (const TaskMetric metric : engine::task_metrics())
        names.emplace_back(name_of(metric));
    return names;
}

class EvalTasks final : public Command {
public:
    explicit EvalTasks(CLI::App& parent)
    {
        command_ = parent.add_subcommand("tasks", "questions of LongBench, L-Eval and RULER, with their metrics");
        command_->add_option("FILE", files_, "JSON lines as these projects publish them; -: standard input")
            ->required();
        grid_.add_options(*command_);
        command_->add_option("--lines", lines_, "read no more than this many lines of each file")
            ->check(CLI::Range(uint64_t{1}, uint64_t{UINT32_MAX}));
        command_->add_option("--metric", metric_, "of all questions, instead of those of their datasets")
            ->check(CLI::IsMember(metric_names()));
        command_->add_option("--template", template_,
                             "how a question is asked: a text with {context} and, behind it, {input}");
        command_->add_flag("--plain", is_plain_, "without the model's chat template");
        command_->add_option("--max-tokens", max_tokens_, "longest answer, instead of those of the datasets")
            ->check(CLI::Range(1, 1 << 20));
        command_->add_option(
            "--truncate-middle", longest_,
            "of a longer text, read only the first and the last half of so many tokens, such as 4k");
        command_->add_option("--protocol", protocol_, "when the question is known: blind, steered or question-last")
            ->capture_default_str()
            ->check(CLI::IsMember({"blind", "steered", "question-last"}));
        add_cache_options(*command_, common_);
        add_measurement_options(*command_, common_, journal_);
    }
    bool chosen() const override { return command_->parsed(); }
    bool wants_json() const override { return common_.json; }
    bool wants_events() const override { return common_.events; }

    void run(Console& console) override
    {
        if (!common_.pins.empty())
            throw Error(ErrorKind::Usage, ErrorCode::InvalidArguments, Text(Setting::Pin),
                        Text("the texts of the questions are different ones"), Text("leave it out"));
        check_before_loading();
        const auto model = load_chosen_model(common_, console, 2); // the session and its copy for a question
        const std::vector<AskedTask> tasks = read_tasks(*model, console);
        std::vector<PolicyScores> results;
        for (const PolicyAndBudget& setting : grid_.all(common_)) {
            for (const Asking& asking : askings(tasks))
                options_for(*model, asking, setting); // what does not fit is found before hours of reading
            results.push_back({.setting = setting});
        }
        Journal journal(journal_, measurement(*model));
        measure(model, tasks, results, journal, console);
        if (common_.json)
            write_json(console.out, json(*model, tasks, results));
        else
            write_tables(tasks, results, console);
    }

private:
    void check_before_loading() const
    {
        if (!template_.empty()) given_template();
        longest();
        for (const std::string& file : files_)
            check_task_file(file);
    }

    // The text of a line is dropped for its tokens before the next line is read.
    std::vector<AskedTask> read_tasks(const engine::Model& model, Console& console)
    {
        const engine::ChatTemplate plain = task_turns(model, true), own = task_turns(model, is_plain_);
        if (!own.warning().empty()) write_note(console, common_.events, own.warning());
        const auto metric = metric_.empty() ? std::nullopt : engine::task_metric(metric_);
        std::vector<AskedTask> tasks;
        for (const std::string& file : files_) {
            const uint64_t left_out = read_task_file(file, lines_, metric, console, [&](ReadTask read) {
                const engine::ChatTemplate& turns = read.task.defaults.is_plain ? plain : own;
                tasks.push_back(with_tokens(std::move(read), *model.tokenizer(), turns));
            });
            left_out_ += left_out;
            if (left_out > 0)
                write_note(
                    console, common_.events,
                    Text("{0}: {1} questions have no metric that is computed here and are left out; choose one "
                         "with --metric",
                         Text::escaped(file), format_count(left_out)));
        }
        if (tasks.empty())
            throw Error(ErrorKind::Failed, ErrorCode::EmptyDocument, Text::escaped(files_[0]),
                        Text("it has no question that can be scored"),
                        Text("give lines of LongBench, L-Eval or RULER, or choose a --metric"));
        return tasks;
    }

    AskedTask with_tokens(ReadTask read, const engine::Tokenizer& tokenizer,
                          const engine::ChatTemplate& turns) const
    {
        const engine::TaskDefaults& defaults = read.task.defaults;
        const auto with = template_.empty() ? engine::TaskTemplate{"", defaults.question} : given_template();
        const auto is_asked = [](const engine::TaskQuestion& question) { return !question.input.empty(); };
        if (!template_.empty() && std::ranges::any_of(read.task.questions, is_asked))
            with.require_question(Text::verbatim("--template"));
        const int32_t max_tokens = max_tokens_ > 0 ? max_tokens_ : defaults.max_tokens;
        TaskText text = make_task_text(read.task, with, tokenizer, turns, longest());
        read.task.context = {};
        return {.read = std::move(read), .text = std::move(text), .max_tokens = max_tokens};
    }

    // The longest text that is not cut (--truncate-middle), in tokens; nullopt: no text is cut.
    std::optional<uint64_t> longest() const
    {
        if (longest_.empty()) return std::nullopt;
        const uint64_t longest = parse_length("--truncate-middle", longest_);
        if (longest < 2)
            throw Error(ErrorKind::Usage, ErrorCode::ValueNotPossible, Text::verbatim("--truncate-middle"),
                        Text("'{0}' is not possible", longest_), Text("give 2 or more"));
        return longest;
    }

    engine::TaskTemplate given_template() const
    {
        return engine::TaskTemplate::parse(template_, Text::verbatim("--template"));
    }

    // The settings that change answers. A journal with other settings is refused.
    ordered_json measurement(const engine::Model& model) const
    {
        ordered_json all = measurement_of("tasks", model, common_);
        all.update({{"protocol", protocol_}});
        return all;
    }

    Protocol protocol() const
    {
        return protocol_ == "blind"     ? Protocol::Blind
               : protocol_ == "steered" ? Protocol::Steered
                                        : Protocol::QuestionLast;
    }

    // After a blind reading all questions are asked; otherwise the text is read anew for each.
    std::vector<Asking> askings(const std::vector<AskedTask>& tasks) const
    {
        std::vector<Asking> all;
        for (size_t i = 0; i < tasks.size(); ++i) {
            const size_t questions = tasks[i].text.questions.size();
            const size_t at_once = protocol() == Protocol::Blind ? questions : 1;
            for (size_t first = 0; first < questions; first += at_once)
                all.push_back({.task = &tasks[i], .number = i, .first = first, .count = at_once});
        }
        return all;
    }

    void measure(const std::shared_ptr<const engine::Model>& model, const std::vector<AskedTask>& tasks,
                 std::vector<PolicyScores>& results, Journal& journal, Console& console) const
    {
        const std::vector<Asking> all = askings(tasks);
        uint64_t tokens = 0;
        for (const Asking& asking : all)
            tokens += asking.most_tokens();
        LongMeasurement measurement(console, common_.events, "tasks", tokens * results.size(), journal);
        for (PolicyScores& result : results)
            for (const Asking& asking : all) {
                const std::string key = result.setting.policy + "|" + result.setting.budget + "|" + asking.key();
                add(measurement.part(key, asking.most_tokens(),
                                     [&](const LongMeasurement::Report& report) {
                                         return read(model, asking, result.setting, report, console.stop);
                                     }),
                    asking, result);
            }
    }

    engine::SessionOptions options_for(const engine::Model& model, const Asking& asking,
                                       const PolicyAndBudget& setting) const
    {
        const TaskText& text = asking.task->text;
        engine::SessionOptions options =
            options_to_measure(setting.options(common_), model, text.context, text.context.size() - text.own,
                               asking.stream() - text.context.size(), asking.task->read.file);
        if (protocol() == Protocol::Steered)
            storage::make_room_for(asking.questions()[0], model.config(), Text::verbatim("eval tasks"), options);
        return options;
    }

    // Null: stopped. Null as "answers": the lists cannot hold the text.
    ordered_json read(const std::shared_ptr<const engine::Model>& model, const Asking& asking,
                      const PolicyAndBudget& setting, const LongMeasurement::Report& report,
                      const std::stop_token& stop) const
    {
        const uint64_t stream = asking.stream();
        engine::Session session(model, options_for(*model, asking, setting));
        const ordered_json budget = budget_json(session);
        if (!session.policy().bounded() && stream > static_cast<uint64_t>(session.policy().capacity()))
            return {{"budget", budget}, {"answers", nullptr}};
        const engine::FeedOptions feed{
            .stop = stop, .progress = [&](const engine::Telemetry& now) { report(session, now); }, .loss = {}};
        const auto answers = engine::read_and_answer(session, asking.task->text.context, asking.questions(),
                                                     protocol(), asking.task->max_tokens, feed);
        if (!answers) return nullptr;
        ordered_json all = ordered_json::array();
        for (const engine::TaskAnswer& answer : *answers)
            all.push_back(
                {{"text", answer.text}, {"tokens", answer.tokens}, {"end", storage::end_name(answer.end)}});
        return {{"budget", budget}, {"answers", all}};
    }

    static void add(const ordered_json& found, const Asking& asking, PolicyScores& result)
    {
        const AskedTask& task = *asking.task;
        DatasetScore& dataset = result.of(task);
        for (size_t i = 0; i < asking.count; ++i) {
            ordered_json one = {
                {"task", asking.number}, {"question", asking.first + i}, {"budget", found["budget"]}};
            if (found["answers"].is_null()) {
                ++dataset.too_long;
                one.update({{"score", nullptr}, {"text", nullptr}});
            } else {
                const ordered_json& answer = found["answers"].at(i);
                const double score = score_of(task, asking.first + i, answer["text"]);
                dataset.score.add(score);
                one["score"] = score;
                one.update(answer);
            }
            result.answers.push_back(std::move(one));
        }
    }

    static double score_of(const AskedTask& task, size_t question, const std::string& text)
    {
        const std::string counted = task.line().defaults.first_line_counts ? first_filled_line(text) : text;
        return engine::score(task.metric(), counted, task.line().questions[question].right);
    }

    void write_tables(const std::vector<AskedTask>& tasks, const std::vector<PolicyScores>& results,
                      Console& console) const
    {
        const CommandWording& wording = console.wording;
        console.out << wording.of(Text("{0}; mean scores with their 95 % intervals\n", protocol_));
        write_cut(tasks, console);
        for (const PolicyScores& result : results) {
            console.out << '\n' << setting_name(result.setting, wording) << '\n';
            Table table;
            std::vector<std::string> heading = {wording.of(Text("dataset")), wording.of(Text("metric")),
                                                wording.of(Text("questions")), wording.of(Text("score")), ""};
            if (files_.size() > 1) heading.insert(heading.begin(), wording.of(Text("file")));
            table.add(std::move(heading));
            for (const DatasetScore& dataset : result.datasets)
                table.add(row(dataset, wording));
            table.write_columns(console);
            for (const DatasetScore& dataset : result.datasets)
                if (dataset.too_long > 0)
                    console.out << wording.of(
                        Text("{0}: {1} questions n/a, its lists cannot hold their texts and answers\n",
                             Text::escaped(dataset.dataset), format_count(dataset.too_long)));
        }
    }

    std::vector<std::string> row(const DatasetScore& dataset, const CommandWording& wording) const
    {
        const auto [low, high] = dataset.score.interval();
        const bool is_scored = dataset.score.count() > 0;
        std::vector<std::string> cells = {
            dataset.dataset, name_of(dataset.metric), format_count(dataset.score.count()),
            is_scored ? three_digits(dataset.score.mean()) : std::string("n/a"),
            is_scored ? wording.of(Text("{0} to {1}", three_digits(low), three_digits(high))) : std::string()};
        if (files_.size() > 1) cells.insert(cells.begin(), row_text(dataset.file));
        return cells;
    }

    static void write_cut(const std::vector<AskedTask>& tasks, Console& console)
    {
        uint64_t texts = 0, cut = 0, read = 0;
        for (const AskedTask& task : tasks) {
            texts += task.text.cut > 0 ? 1 : 0;
            cut += task.text.cut;
            read += task.text.own;
        }
        if (cut > 0)
            console.out << console.wording.of(
                Text("{0} of {1} texts were cut in the middle: {2} of {3} tokens were not read\n",
                     format_count(texts), format_count(tasks.size()), format_count(cut), format_count(cut + read)));
    }

    ordered_json json(const engine::Model& model, const std::vector<AskedTask>& tasks,
                      const std::vector<PolicyScores>& results) const
    {
        ordered_json asked = ordered_json::array(), all = ordered_json::array();
        for (const AskedTask& task : tasks)
            asked.push_back(task.json());
        for (const PolicyScores& result : results) {
            ordered_json scores = ordered_json::array();
            for (const DatasetScore& dataset : result.datasets)
                scores.push_back(score_json(dataset));
            all.push_back({{"policy", result.setting.policy},
                           {"budget", result.setting.budget},
                           {"scores", scores},
                           {"answers", result.answers}});
        }
        return {{"schema", "palimpsest.tasks/1"},
                {"protocol", protocol_},
                {"model", model_json(model)},
                {"template", template_.empty() ? ordered_json() : ordered_json(template_)},
                {"plain", is_plain_},
                {"left_out", left_out_},
                {"tasks", asked},
                {"results", all}};
    }

    static ordered_json score_json(const DatasetScore& dataset)
    {
        const auto [low, high] = dataset.score.interval();
        const bool is_scored = dataset.score.count() > 0;
        return {{"file", dataset.file},
                {"dataset", dataset.dataset},
                {"metric", name_of(dataset.metric)},
                {"asked", dataset.score.count()},
                {"too_long", dataset.too_long},
                {"mean", is_scored ? ordered_json(dataset.score.mean()) : ordered_json()},
                {"interval", {low, high}}};
    }

    CLI::App* command_ = nullptr;
    CommonOptions common_;
    std::vector<std::string> files_;
    PolicyGrid grid_;
    std::string metric_, template_, longest_, journal_, protocol_ = "blind";
    bool is_plain_ = false;
    int32_t max_tokens_ = 0; // 0: that of each dataset
    uint64_t lines_ = UINT64_MAX, left_out_ = 0;
};

} // namespace

std::unique_ptr<Command> make_eval_tasks(CLI::App& parent)
{
    return std::make_unique<EvalTasks>(parent);
}

} // namespace palimpsest::app
