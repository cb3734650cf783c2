#include "engine/eval/task_defaults.h"

#include <algorithm>
#include <array>
#include <utility>

namespace palimpsest::engine {
namespace {

using enum TaskMetric;

constexpr const char* in_words = "\n\nQuestion: {input}\nGive the answer alone, in a few words.\nAnswer:";
constexpr const char* in_words_or_unanswerable = "\n\nQuestion: {input}\nGive the answer alone, in a few words, as "
                                                 "'yes' or 'no' if this is what is asked, or as "
                                                 "'unanswerable' if the text does not answer it.\nAnswer:";
constexpr const char* by_letter = "\n\nQuestion: {input}\nAnswer with the letter alone.\nAnswer:";
constexpr const char* by_letters = "\n\nQuestion: {input}\nAnswer with the letters alone.\nAnswer:";
constexpr const char* as_given = "\n\n{input}";
constexpr const char* summary = "\n\nWrite a summary of this, about a page long.\nSummary:";
constexpr const char* count = "\n\nHow many different paragraphs are there above? Count repeated ones once, and "
                              "give the number alone.\nAnswer:";
constexpr const char* paragraph = "\n\nWhich paragraph above is summarised here? Give its name alone, such as "
                                  "\"Paragraph 1\".\n\n{input}\n\nAnswer:";
constexpr const char* code = "{input}\nThe next line of this code:\n";

const std::array<std::pair<std::string_view, TaskDefaults>, 21> longbench = {{
    {"narrativeqa", {.metric = QaF1, .max_tokens = 128, .question = in_words}},
    {"qasper", {.metric = QaF1, .max_tokens = 128, .question = in_words_or_unanswerable}},
    {"multifieldqa_en", {.metric = QaF1, .max_tokens = 64, .question = in_words}},
    {"multifieldqa_zh", {.max_tokens = 64}},
    {"hotpotqa", {.metric = QaF1, .max_tokens = 32, .question = in_words}},
    {"2wikimqa", {.metric = QaF1, .max_tokens = 32, .question = in_words}},
    {"musique", {.metric = QaF1, .max_tokens = 32, .question = in_words}},
    {"dureader", {.max_tokens = 128}},
    {"gov_report", {.metric = RougeL, .max_tokens = 512, .question = summary}},
    {"qmsum", {.metric = RougeL, .max_tokens = 512}},
    {"multi_news", {.metric = RougeL, .max_tokens = 512, .question = summary}},
    {"vcsum", {.max_tokens = 512, .question = summary}},
    {"trec",
     {.metric = Classes, .max_tokens = 64, .first_line_counts = true, .is_plain = true, .question = as_given}},
    {"triviaqa",
     {.metric = QaF1, .max_tokens = 32, .first_line_counts = true, .is_plain = true, .question = as_given}},
    {"samsum",
     {.metric = RougeL, .max_tokens = 128, .first_line_counts = true, .is_plain = true, .question = as_given}},
    {"lsht",
     {.metric = Classes, .max_tokens = 64, .first_line_counts = true, .is_plain = true, .question = as_given}},
    {"passage_count", {.metric = Count, .max_tokens = 32, .question = count}},
    {"passage_retrieval_en", {.metric = Paragraph, .max_tokens = 32, .question = paragraph}},
    {"passage_retrieval_zh", {.metric = Paragraph, .max_tokens = 32, .question = paragraph}},
    {"lcc", {.metric = Edit, .max_tokens = 64, .is_plain = true, .question = code}},
    {"repobench-p", {.metric = Edit, .max_tokens = 64, .is_plain = true, .question = code}},
}};

bool contains(std::string_view text, std::string_view part)
{
    return text.find(part) != text.npos;
}

std::optional<TaskMetric> exam_metric(std::string_view dataset)
{
    if (contains(dataset, "coursera")) return Options;
    if (contains(dataset, "quality") || contains(dataset, "tpo")) return Option;
    if (contains(dataset, "gsm")) return Result;
    if (contains(dataset, "topic")) return Exact;
    return std::nullopt;
}

const char* exam_question(std::optional<TaskMetric> metric)
{
    if (metric == Options) return by_letters;
    if (metric == Option) return by_letter;
    return as_given;
}

} // namespace

TaskDefaults longbench_defaults(std::string_view dataset)
{
    if (dataset.ends_with("_e")) dataset.remove_suffix(2);
    const auto found = std::ranges::find(longbench, dataset, &std::pair<std::string_view, TaskDefaults>::first);
    return found != longbench.end() ? found->second : TaskDefaults{.metric = QaF1, .question = in_words};
}

TaskDefaults leval_defaults(std::string_view dataset, std::string_view evaluation)
{
    TaskDefaults defaults{.max_tokens = 512};
    if (evaluation == "exam") {
        defaults.metric = exam_metric(dataset);
        defaults.question = exam_question(defaults.metric);
    }
    if (evaluation == "f1") {
        defaults.metric = QaF1;
        defaults.question = in_words;
    }
    if (evaluation == "rouge") defaults.metric = RougeLLetters;
    return defaults;
}

TaskDefaults ruler_defaults(std::string_view dataset)
{
    TaskDefaults defaults{.metric = MatchAll, .max_tokens = 128, .question = "\n{input}"};
    if (dataset.starts_with("qa")) defaults.metric = MatchAny;
    constexpr std::array<std::pair<std::string_view, int32_t>, 7> lengths = {{{"qa", 32},
                                                                              {"vt", 30},
                                                                              {"variable_tracking", 30},
                                                                              {"cwe", 120},
                                                                              {"common_words_extraction", 120},
                                                                              {"fwe", 50},
                                                                              {"freq_words_extraction", 50}}};
    for (const auto& [name, length] : lengths)
        if (dataset.starts_with(name)) defaults.max_tokens = length;
    return defaults;
}

} // namespace palimpsest::engine
