// Files of benchmark questions, as `eval tasks` reads them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "app/palimpsest/console.h"
#include "engine/eval/task_line.h"

namespace palimpsest::app {

struct ReadTask {
    std::string file;
    uint64_t line = 0; // from 1
    engine::TaskLine task;
};

// Throws Error: NotFound or Failed if the file cannot be opened. "-" is standard input.
void check_task_file(const std::string& file);

using TakeTask = std::function<void(ReadTask task)>;

// Hands over each question that has a metric as soon as its line is read, of at most `most` lines that are not
// blank, and returns how many questions have none. Holds one line at a time. `metric`: of all questions; nullopt:
// those of their datasets. Throws Error (Failed) if the file cannot be read, as engine::parse_task_line and as
// `take`, and Interrupted.
// REQUIRES: check_task_file.
uint64_t read_task_file(const std::string& file, uint64_t most, std::optional<engine::TaskMetric> metric,
                        Console& console, const TakeTask& take);

} // namespace palimpsest::app
