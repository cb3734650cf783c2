// How the questions of known datasets are asked and scored unless the user chooses otherwise.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "engine/eval/metrics/task_metric.h"

namespace palimpsest::engine {

struct TaskDefaults {
    std::optional<TaskMetric> metric{}; // nullopt: none that is computed here
    int32_t max_tokens = 64;            // of the answer
    bool first_line_counts = false;     // the answer ends with its first line that is not empty
    bool is_plain = false;              // asked without the model's chat template
    const char* question = "\n\nQuestion: {input}\nAnswer:";
};

// Metrics, lengths and what is asked plainly as in LongBench's eval.py, dataset2maxlen.json and pred.py; the
// wording of the questions is ours: it asks for the shape that the metric compares. Chinese texts whose words would
// have to be found by a segmenter have no metric. Other names: words in common. "_e" at the end, of LongBench-E,
// does not count.
TaskDefaults longbench_defaults(std::string_view dataset);

// As L-Eval's auto_eval.py: by `evaluation` ("exam", "f1", "rouge") and, for exams, by what the dataset's name
// contains: "coursera", "quality", "tpo", "gsm" or "topic". No metric for other exams, and for what people or
// models judge ("human", "LLM").
TaskDefaults leval_defaults(std::string_view dataset, std::string_view evaluation);

// As RULER's constants.py, by short and by long names ("vt", "variable_tracking"): any answer is enough for "qa" at
// the beginning of the name, all are needed otherwise.
TaskDefaults ruler_defaults(std::string_view dataset);

} // namespace palimpsest::engine
