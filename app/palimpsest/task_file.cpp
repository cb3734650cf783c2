#include "app/palimpsest/task_file.h"

#include <filesystem>
#include <fstream>

#include "kernels/base/error.h"

namespace palimpsest::app {
namespace {

void check_task_file(const std::string& file, const std::ifstream& stream)
{
    std::error_code ignored;
    if (!std::filesystem::exists(file, ignored))
        throw Error(ErrorKind::NotFound, ErrorCode::DocumentNotFound, Text::escaped(file),
                    Text("there is no such file"), Text("check the name"));
    if (std::filesystem::is_directory(file, ignored) || !stream.is_open())
        throw Error(ErrorKind::Failed, ErrorCode::UnreadableDocument, Text::escaped(file),
                    Text("it cannot be opened"), Text("check its permissions"));
}

TaskFile read_lines(std::istream& in, const std::string& file, uint64_t most,
                    std::optional<engine::TaskMetric> metric)
{
    TaskFile read;
    uint64_t taken = 0, number = 0;
    for (std::string line; taken < most && std::getline(in, line);) {
        ++number;
        if (line.find_first_not_of(" \t\r") == line.npos) continue;
        ++taken;
        engine::TaskLine task = engine::parse_task_line(line, file, number, metric);
        if (task.defaults.metric)
            read.tasks.push_back({.file = file, .line = number, .task = std::move(task)});
        else
            read.left_out += task.questions.size();
    }
    return read;
}

} // namespace

TaskFile read_task_file(const std::string& file, uint64_t most, std::optional<engine::TaskMetric> metric,
                        Console& console)
{
    if (file == "-") return read_lines(console.in, file, most, metric);
    std::ifstream stream(file, std::ios::binary);
    check_task_file(file, stream);
    return read_lines(stream, file, most, metric);
}

} // namespace palimpsest::app
