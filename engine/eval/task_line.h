// Benchmark questions as the projects publish them: JSON lines of LongBench (arXiv:2308.14508), L-Eval
// (arXiv:2307.11088) and RULER (arXiv:2404.06654), each known by its members.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/eval/metrics/task_metric.h"
#include "engine/eval/task_defaults.h"

namespace palimpsest::engine {

enum class TaskForm : uint8_t {
    LongBench, // "context", "input" (the question), "answers"; "dataset", "all_classes"
    LEval,     // "input" (the text), "instructions" (questions) and as many "outputs" (answers); "evaluation";
               // "dataset"
    Ruler      // "input" (the text, whose last line is the question), "outputs"; "answer_prefix"; "dataset" or, of
               // `eval ruler`, "task"
};
const char* name_of(TaskForm form); // "longbench", "l-eval", "ruler"

struct TaskQuestion {
    std::string input;
    RightAnswer right;
};

struct TaskLine {
    TaskForm form = TaskForm::LongBench;
    std::string dataset; // its name, or else that of the file
    std::string context;
    std::string answer_prefix; // with which the answer begins; empty: none
    std::vector<TaskQuestion> questions;
    TaskDefaults defaults; // with the chosen metric
};

// The dataset of a file without a name of its own: the file's name without its ending, or the folder's for
// "validation" and "test", as RULER names them.
std::string dataset_of_file(const std::string& file);

// Makes a question from a line in RULER's form. nullopt: `input` has no text before its last line, the question.
std::optional<TaskLine> ruler_line(std::string dataset, std::string input, std::string answer_prefix,
                                   std::vector<std::string> answers);

// `file`, `number`: for errors, and the file's name for the dataset. `metric`: that of all questions; nullopt: the
// dataset's own. Throws Error (Failed, PAL-DOC-10) for a line that is not UTF-8 or JSON, has none of the forms, has
// no text, or whose answers are missing, empty or cannot be scored.
TaskLine parse_task_line(std::string_view line, const std::string& file, uint64_t number,
                         std::optional<TaskMetric> metric);

} // namespace palimpsest::engine
