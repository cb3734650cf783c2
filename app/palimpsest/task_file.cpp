#include "app/palimpsest/task_file.h"

#include <filesystem>
#include <fstream>
#include <unistd.h>

#include "kernels/base/error.h"
#include "storage/interrupted.h"

namespace palimpsest::app {
namespace {

bool is_standard_input(const std::string& file)
{
    return file == "-";
}

class TaskLines {
public:
    TaskLines(const std::string& file, uint64_t most, std::optional<engine::TaskMetric> metric,
              const std::stop_token& stop)
        : file_(file), most_(most), metric_(metric), stop_(stop)
    {
    }

    uint64_t read(std::istream& in, const TakeTask& take)
    {
        for (std::string line; taken_ < most_ && std::getline(in, line);) {
            if (stop_.stop_requested())
                throw storage::Interrupted{Text("stopped while reading the questions; no result was printed")};
            ++number_;
            if (number_ == 1 && line.starts_with(byte_order_mark)) line.erase(0, byte_order_mark.size());
            if (line.find_first_not_of(" \t\r") != line.npos) take_line(line, take);
        }
        if (in.bad())
            throw Error(ErrorKind::Failed, ErrorCode::UnreadableDocument, Text::escaped(file_),
                        Text("it could not be read behind line {0}", number_),
                        Text("check the disk and try again"));
        return left_out_;
    }

private:
    static constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

    void take_line(const std::string& line, const TakeTask& take)
    {
        ++taken_;
        engine::TaskLine task = engine::parse_task_line(line, file_, number_, metric_);
        if (task.defaults.metric)
            take({.file = file_, .line = number_, .task = std::move(task)});
        else
            left_out_ += task.questions.size();
    }

    const std::string& file_;
    const uint64_t most_;
    const std::optional<engine::TaskMetric> metric_;
    const std::stop_token& stop_;
    uint64_t taken_ = 0, number_ = 0, left_out_ = 0;
};

} // namespace

void check_task_file(const std::string& file)
{
    if (is_standard_input(file)) return;
    std::error_code ignored;
    if (!std::filesystem::exists(file, ignored))
        throw Error(ErrorKind::NotFound, ErrorCode::DocumentNotFound, Text::escaped(file),
                    Text("there is no such file"), Text("check the name"));
    if (std::filesystem::is_directory(file, ignored) || access(file.c_str(), R_OK) != 0)
        throw Error(ErrorKind::Failed, ErrorCode::UnreadableDocument, Text::escaped(file),
                    Text("it cannot be opened"), Text("check its permissions"));
}

uint64_t read_task_file(const std::string& file, uint64_t most, std::optional<engine::TaskMetric> metric,
                        Console& console, const TakeTask& take)
{
    TaskLines lines(file, most, metric, console.stop);
    if (is_standard_input(file)) return lines.read(console.in, take);
    std::ifstream stream(file, std::ios::binary);
    return lines.read(stream, take);
}

} // namespace palimpsest::app
