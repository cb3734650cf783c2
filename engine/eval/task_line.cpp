#include "engine/eval/task_line.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "engine/eval/metrics/number_match.h"
#include "kernels/base/error.h"

namespace palimpsest::engine {
namespace {

using nlohmann::json;

class TaskLineParser {
public:
    TaskLineParser(const std::string& file, uint64_t number) : file_(file), number_(number) {}

    TaskLine parse(std::string_view text, std::optional<TaskMetric> metric) const
    {
        const json line = json::parse(text.begin(), text.end(), nullptr, false);
        if (!line.is_object())
            throw refusal(Text("it is not a JSON object"), Text("give one JSON object per line"));
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

    TaskLine of_form(const json& line) const
    {
        if (line.contains("instructions")) return leval(line);
        if (line.contains("context")) return longbench(line);
        if (line.contains("outputs")) return ruler(line);
        throw refusal(
            Text("it has no member of LongBench ('context'), L-Eval ('instructions') or RULER ('outputs')"),
            Text("give 'context', 'input' and 'answers', or 'input' and 'outputs'"));
    }

    TaskLine longbench(const json& line) const
    {
        const std::string dataset = line.contains("dataset") ? text_of(line, "dataset") : dataset_of_file(file_);
        TaskQuestion question{.input = text_of(line, "input"), .right = {.answers = texts_of(line, "answers")}};
        if (line.contains("all_classes") && !line["all_classes"].is_null())
            question.right.classes = texts_of(line, "all_classes");
        return {.form = TaskForm::LongBench,
                .dataset = dataset,
                .context = text_of(line, "context"),
                .answer_prefix = {},
                .questions = {question},
                .defaults = longbench_defaults(dataset)};
    }

    TaskLine leval(const json& line) const
    {
        const std::string dataset = dataset_of_file(file_);
        const auto instructions = texts_of(line, "instructions"), outputs = texts_of(line, "outputs");
        if (instructions.size() != outputs.size())
            throw refusal(Text("it has {0} instructions and {1} outputs", instructions.size(), outputs.size()),
                          Text("give one output for each instruction"));
        TaskLine task{.form = TaskForm::LEval,
                      .dataset = dataset,
                      .context = text_of(line, "input"),
                      .answer_prefix = {},
                      .questions = {},
                      .defaults = leval_defaults(dataset, text_of(line, "evaluation"))};
        for (size_t i = 0; i < instructions.size(); ++i)
            task.questions.push_back({.input = instructions[i], .right = {.answers = {outputs[i]}}});
        return task;
    }

    TaskLine ruler(const json& line) const
    {
        const std::string dataset = line.contains("task") ? text_of(line, "task") : dataset_of_file(file_);
        const std::string input = text_of(line, "input");
        const size_t last = input.find_last_not_of(" \n\t\r");
        const size_t end = last == input.npos ? input.npos : input.rfind('\n', last);
        if (end == input.npos)
            throw refusal(Text("its input has no text before the last line, which is the question"),
                          Text("give the text first, and the question on a line of its own"));
        return {.form = TaskForm::Ruler,
                .dataset = dataset,
                .context = input.substr(0, end),
                .answer_prefix = line.contains("answer_prefix") ? text_of(line, "answer_prefix") : std::string(),
                .questions = {{.input = input.substr(end + 1), .right = {.answers = texts_of(line, "outputs")}}},
                .defaults = ruler_defaults(dataset)};
    }

    std::string text_of(const json& line, const char* member) const
    {
        if (!line.contains(member) || !line[member].is_string())
            throw refusal(Text("its member '{0}' is missing or not a text", member), Text("add it"));
        return line[member];
    }

    // A text alone is a list of one.
    std::vector<std::string> texts_of(const json& line, const char* member) const
    {
        if (line.contains(member) && line[member].is_string()) return {line[member]};
        const auto is_text = [](const json& value) { return value.is_string(); };
        if (!line.contains(member) || !line[member].is_array() || line[member].empty() ||
            !std::ranges::all_of(line[member], is_text))
            throw refusal(Text("its member '{0}' is missing or not a list of texts", member),
                          Text("give at least one"));
        return line[member];
    }

    void check_scorable(const RightAnswer& right, std::optional<TaskMetric> metric) const
    {
        const auto names_paragraph = [](const std::string& answer) { return paragraph_number(answer).has_value(); };
        if (metric == TaskMetric::Paragraph && !std::ranges::all_of(right.answers, names_paragraph))
            throw refusal(Text("its answer names no paragraph"), Text("give it as \"Paragraph 1\""));
        if (metric == TaskMetric::Classes && right.classes.empty())
            throw refusal(Text("its member '{0}' is missing or not a list of texts", "all_classes"),
                          Text("give at least one"));
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

TaskLine parse_task_line(std::string_view line, const std::string& file, uint64_t number,
                         std::optional<TaskMetric> metric)
{
    return TaskLineParser(file, number).parse(line, metric);
}

} // namespace palimpsest::engine
