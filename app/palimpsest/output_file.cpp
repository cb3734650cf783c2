#include "app/palimpsest/output_file.h"

#include <filesystem>

#include "kernels/base/error.h"

namespace palimpsest::app {

namespace fs = std::filesystem;

OutputFile::OutputFile(const std::string& name) : name_(name)
{
    std::error_code unknown;
    if (fs::is_directory(name, unknown))
        throw Error(ErrorKind::Failed, ErrorCode::InaccessibleFile, Text::escaped(name), Text("it is a folder"),
                    Text("give a file's name"));
    const bool is_there = fs::exists(name, unknown);
    const bool is_special = is_there && !fs::is_regular_file(name, unknown);
    if (!is_special) part_.emplace(is_there ? fs::canonical(name, unknown) : fs::path(name)); // links are resolved
    stream_.open(part_ ? part_->path() : fs::path(name), std::ios::binary);
    if (!stream_)
        throw Error(ErrorKind::Failed, ErrorCode::InaccessibleFile, Text::escaped(name),
                    Text("it cannot be written"), Text("check the folder and its permissions"));
}

void OutputFile::commit()
{
    stream_.close();
    std::error_code failed;
    if (stream_ && part_) failed = part_->finish(part_->path());
    if (!stream_ || failed)
        throw Error(ErrorKind::Resources, ErrorCode::DiskFull, Text::escaped(name_),
                    Text("it could not be written"), Text("check the folder, its permissions and the free space"));
}

} // namespace palimpsest::app
