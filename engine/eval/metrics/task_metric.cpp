#include "engine/eval/metrics/task_metric.h"

#include <algorithm>
#include <array>
#include <cassert>

#include "engine/eval/metrics/class_match.h"
#include "engine/eval/metrics/edit_similarity.h"
#include "engine/eval/metrics/exact_match.h"
#include "engine/eval/metrics/number_match.h"
#include "engine/eval/metrics/option_letters.h"
#include "engine/eval/metrics/qa_f1.h"
#include "engine/eval/metrics/rouge_l.h"
#include "engine/eval/metrics/string_match.h"

namespace palimpsest::engine {
namespace {

constexpr std::array metric_names = {"qa-f1",   "rouge-l",   "rouge-l-letters", "classes",   "edit",
                                     "count",   "paragraph", "match-all",       "match-any", "option",
                                     "options", "exact",     "result"};

double score_of_one(TaskMetric metric, std::string_view said, const std::string& right,
                    const std::vector<std::string>& classes)
{
    switch (metric) {
    case TaskMetric::QaF1:
        return qa_f1(said, right);
    case TaskMetric::RougeL:
        return rouge_l(said, right);
    case TaskMetric::RougeLLetters:
        return rouge_l_of_letters(said, right);
    case TaskMetric::Classes:
        return class_match(said, right, classes);
    case TaskMetric::Edit:
        return edit_similarity(said, right);
    case TaskMetric::Count:
        return number_share(said, right);
    case TaskMetric::Paragraph:
        return number_share(said, paragraph_number(right).value());
    case TaskMetric::MatchAll:
    case TaskMetric::MatchAny:
        return string_match_all(said, std::span(&right, 1));
    case TaskMetric::Option:
        return exact_match(option_letters(said, OptionCount::One), right_option_letters(right));
    case TaskMetric::Options:
        return exact_match(option_letters(said, OptionCount::Several), right_option_letters(right));
    case TaskMetric::Exact:
        return exact_match(said, right);
    case TaskMetric::Result:
        return result_match(said, right);
    }
    return 0;
}

} // namespace

const char* name_of(TaskMetric metric)
{
    return metric_names[static_cast<size_t>(metric)];
}

const std::vector<TaskMetric>& task_metrics()
{
    static const std::vector<TaskMetric> all = [] {
        std::vector<TaskMetric> made;
        for (size_t i = 0; i < metric_names.size(); ++i)
            made.push_back(static_cast<TaskMetric>(i));
        return made;
    }();
    return all;
}

std::optional<TaskMetric> task_metric(std::string_view name)
{
    const auto found = std::ranges::find(metric_names, name);
    if (found == metric_names.end()) return std::nullopt;
    return static_cast<TaskMetric>(found - metric_names.begin());
}

double score(TaskMetric metric, std::string_view said, const RightAnswer& right)
{
    assert(!right.answers.empty());
    if (metric == TaskMetric::MatchAll) return string_match_all(said, right.answers);
    double best = 0;
    for (const std::string& answer : right.answers)
        best = std::max(best, score_of_one(metric, said, answer, right.classes));
    return best;
}

} // namespace palimpsest::engine
