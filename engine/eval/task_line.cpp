#include "engine/eval/task_line.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "engine/eval/metrics/number_match.h"
#include "engine/model/files/strict_json.h"
#include "engine/text/unicode/utf8.h"
#include "kernels/base/error.h"

namespace palimpsest::engine {
namespace {

using nlohmann::json;

class TaskLineParser {
public:
    TaskLineParser(const std::string& file, uint64_t number) : file_(file), number_(number) {}

    TaskLine parse(std::string_view text, std::optional<TaskMetric> metric) const
    {
        json line = object_in(text);
        TaskLine task = of_form(line);
        if (metric) task.defaults.metric = metric;
        if (task.context.empty()) throw refusal(Text("it has no text to read"), Text("remove the line"));
        for (const TaskQuestion& question : task.questions)
            check_scorable(question.right, task.defaults.metric);
        return task;
    }

private:
    Error refusal(const Text& what, const Text& remedy) const
    {
        return {ErrorKind::Failed, ErrorCode::MalformedDocument,
                Text("{0}, line {1}", Text::escaped(file_), number_), what, remedy};
    }

    json object_in(std::string_view text) const
    {
        if (!is_valid_utf8(text)) throw refusal(Text("it is not UTF-8"), Text("save it as UTF-8"));
        json line = parsed(text);
        if (!line.is_object())
            throw refusal(Text("it is not a JSON object"), Text("give one JSON object per line"));
        return line;
    }

    json parsed(std::string_view text) const
    {
        constexpr JsonLimits limits{.depth = 8, .values = 100'000};
        try {
            return parse_strict_json(text, limits, Refusal(file_), ErrorCode::MalformedDocument);
        } catch (const Error& error) {
            throw refusal(error.text(), Text("give one JSON object per line"));
        }
    }

    // Takes the texts out of `line`.
    TaskLine of_form(json& line) const
    {
        if (line.contains("instructions")) return leval(line);
        if (line.contains("context")) return longbench(line);
        if (line.contains("outputs")) return ruler(line);
        throw refusal(
            Text("it has no member of LongBench ('context'), L-Eval ('instructions') or RULER ('outputs')"),
            Text("give 'context', 'input' and 'answers', or 'input' and 'outputs'"));
    }

    std::string dataset_in(json& line) const
    {
        return line.contains("dataset") ? text_of(line, "dataset") : dataset_of_file(file_);
    }

    TaskLine longbench(json& line) const
    {
        std::string dataset = dataset_in(line);
        TaskQuestion question{.input = text_of(line, "input"), .right = {.answers = texts_of(line, "answers")}};
        if (line.contains("all_classes") && !line["all_classes"].is_null())
            question.right.classes = texts_of(line, "all_classes");
        const TaskDefaults defaults = longbench_defaults(dataset);
        return {.form = TaskForm::LongBench,
                .dataset = std::move(dataset),
                .context = text_of(line, "context"),
                .answer_prefix = {},
                .questions = {std::move(question)},
                .defaults = defaults};
    }

    TaskLine leval(json& line) const
    {
        std::string dataset = dataset_in(line);
        auto instructions = texts_of(line, "instructions"), outputs = texts_of(line, "outputs");
        if (instructions.size() != outputs.size())
            throw refusal(Text("it has {0} instructions and {1} outputs", instructions.size(), outputs.size()),
                          Text("give one output for each instruction"));
        const TaskDefaults defaults = leval_defaults(dataset, text_of(line, "evaluation"));
        TaskLine task{.form = TaskForm::LEval,
                      .dataset = std::move(dataset),
                      .context = text_of(line, "input"),
                      .answer_prefix = {},
                      .questions = {},
                      .defaults = defaults};
        for (size_t i = 0; i < instructions.size(); ++i)
            task.questions.push_back(
                {.input = std::move(instructions[i]), .right = {.answers = {std::move(outputs[i])}}});
        return task;
    }

    TaskLine ruler(json& line) const
    {
        std::string dataset = line.contains("task") ? text_of(line, "task") : dataset_in(line);
        auto task = ruler_line(std::move(dataset), text_of(line, "input"),
                               line.contains("answer_prefix") ? text_of(line, "answer_prefix") : std::string(),
                               texts_of(line, "outputs"));
        if (!task)
            throw refusal(Text("its input has no text before the last line, which is the question"),
                          Text("give the text first, and the question on a line of its own"));
        return *std::move(task);
    }

    std::string text_of(json& line, const char* member) const
    {
        require(line, member);
        if (!line[member].is_string())
            throw refusal(Text("its member '{0}' is not a text", member), Text("give texts, in quotes"));
        return std::move(line[member].get_ref<std::string&>());
    }

    // A text alone is a list of one.
    std::vector<std::string> texts_of(json& line, const char* member) const
    {
        require(line, member);
        json& value = line[member];
        if (value.is_string()) return {text_of(line, member)};
        const auto is_text = [](const json& one) { return one.is_string(); };
        if (!value.is_array() || !std::ranges::all_of(value, is_text))
            throw refusal(Text("its member '{0}' is not a list of texts", member), Text("give texts, in quotes"));
        if (value.empty()) throw refusal(Text("its member '{0}' is empty", member), Text("give at least one"));
        std::vector<std::string> texts;
        for (json& one : value)
            texts.push_back(std::move(one.get_ref<std::string&>()));
        return texts;
    }

    void require(const json& line, const char* member) const
    {
        if (!line.contains(member)) throw refusal(Text("it has no member '{0}'", member), Text("add it"));
    }

    void check_scorable(const RightAnswer& right, std::optional<TaskMetric> metric) const
    {
        const auto is_empty = [](const std::string& answer) {
            return answer.find_first_not_of(" \n\t\r") == answer.npos;
        };
        if (std::ranges::any_of(right.answers, is_empty))
            throw refusal(Text("it has an empty answer"), Text("give the right one, or remove the line"));
        const auto names_paragraph = [](const std::string& answer) { return paragraph_number(answer).has_value(); };
        if (metric == TaskMetric::Paragraph && !std::ranges::all_of(right.answers, names_paragraph))
            throw refusal(Text("its answer names no paragraph"), Text("give it as \"Paragraph 1\""));
        if (metric == TaskMetric::Classes && right.classes.empty())
            throw refusal(Text("it has no member '{0}'", "all_classes"), Text("add it"));
    }

    const std::string& file_;
    uint64_t number_;
};

} // namespace

const char* name_of(TaskForm form)
{
    constexpr const char* names[] = {"longbench", "l-eval", "ruler"};
    return names[static_cast<size_t>(form)];
}

std::string dataset_of_file(const std::string& file)
{
    const std::filesystem::path path(file);
    const std::string name = path.stem().string(), folder = path.parent_path().filename().string();
    return (name == "validation" || name == "test") && !folder.empty() ? folder : name;
}

std::optional<TaskLine> ruler_line(std::string dataset, std::string input, std::string answer_prefix,
                                   std::vector<std::string> answers)
{
    const size_t last = input.find_last_not_of(" \n\t\r");
    const size_t end = last == input.npos ? input.npos : input.rfind('\n', last);
    if (end == input.npos) return std::nullopt;
    TaskQuestion question{.input = input.substr(end + 1), .right = {.answers = std::move(answers)}};
    input.resize(end);
    const TaskDefaults defaults = ruler_defaults(dataset);
    return TaskLine{.form = TaskForm::Ruler,
                    .dataset = std::move(dataset),
                    .context = std::move(input),
                    .answer_prefix = std::move(answer_prefix),
                    .questions = {std::move(question)},
                    .defaults = defaults};
}

TaskLine parse_task_line(std::string_view line, const std::string& file, uint64_t number,
                         std::optional<TaskMetric> metric)
{
    return TaskLineParser(file, number).parse(line, metric);
}

} // namespace palimpsest::engine
