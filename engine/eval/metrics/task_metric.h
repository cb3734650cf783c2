// The metrics by which answers to benchmark questions are scored.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace palimpsest::engine {

enum class TaskMetric : uint8_t {
    QaF1,          // words in common
    RougeL,        // of the package "rouge"
    RougeLLetters, // of the package "rouge_score"
    Classes,
    Edit,
    Count,
    Paragraph,
    MatchAll,
    MatchAny,
    Option,
    Options,
    Exact,
    Result,
};

// "qa-f1", "rouge-l", "rouge-l-letters", "classes", "edit", "count", "paragraph", "match-all", "match-any",
// "option", "options", "exact", "result"
const char* name_of(TaskMetric metric);
std::optional<TaskMetric> task_metric(std::string_view name);
const std::vector<TaskMetric>& task_metrics(); // all

struct RightAnswer {
    std::vector<std::string> answers{}; // of which any is right; for MatchAll, all have to be named
    std::vector<std::string> classes{}; // of all questions of a dataset, for Classes
};

// In [0, 1]. REQUIRES: there is an answer; for Paragraph, the answers name one (paragraph_number).
double score(TaskMetric metric, std::string_view said, const RightAnswer& right);

} // namespace palimpsest::engine
