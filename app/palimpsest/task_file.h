// Files of benchmark questions, as `eval tasks` reads them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/palimpsest/console.h"
#include "engine/eval/task_line.h"

namespace palimpsest::app {

struct ReadTask {
    std::string file;
    uint64_t line = 0; // from 1
    engine::TaskLine task;
};

struct TaskFile {
    std::vector<ReadTask> tasks;
    uint64_t left_out = 0; // questions for which there is no metric
};

// Reads at most `most` lines that are not blank; "-" is standard input. `metric`: of all questions; nullopt: those
// of their datasets. Throws Error: Failed or NotFound if the file cannot be read, and as engine::parse_task_line.
TaskFile read_task_file(const std::string& file, uint64_t most, std::optional<engine::TaskMetric> metric,
                        Console& console);

} // namespace palimpsest::app
