#include "app/palimpsest/output_file.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <unistd.h>

#include "kernels/base/error.h"

namespace palimpsest::app {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const std::string& name, Text why)
{
    throw Error(ErrorKind::Failed, ErrorCode::InaccessibleFile, Text::escaped(name), std::move(why),
                Text("check the folder and its permissions"));
}

// Creates a temporary file with a unique name that only its owner can read.
std::string create_beside(const std::string& name, const std::string& place)
{
    std::string temporary = place + ".XXXXXX";
    const int file = mkstemp(temporary.data());
    if (file < 0) refuse(name, Text("it cannot be written ({0})", std::strerror(errno)));
    close(file);
    return temporary;
}

} // namespace

OutputFile::OutputFile(const std::string& name) : name_(name)
{
    std::error_code unknown;
    if (fs::is_directory(name, unknown))
        throw Error(ErrorKind::Failed, ErrorCode::InaccessibleFile, Text::escaped(name), Text("it is a folder"),
                    Text("give a file's name"));
    place_ = fs::exists(name, unknown) ? fs::canonical(name, unknown).string() : name;
    const bool is_special = fs::exists(name, unknown) && !fs::is_regular_file(name, unknown);
    if (!is_special) temporary_ = create_beside(name, place_);
    stream_.open(is_special ? name : temporary_, std::ios::binary);
    if (!stream_) refuse(name, Text("it cannot be written"));
}

OutputFile::~OutputFile()
{
    stream_.close();
    if (!temporary_.empty()) unlink(temporary_.c_str());
}

void OutputFile::commit()
{
    stream_.close();
    std::error_code failed;
    if (stream_ && !temporary_.empty()) fs::rename(temporary_, place_, failed);
    if (!stream_ || failed)
        throw Error(ErrorKind::Resources, ErrorCode::DiskFull, Text::escaped(name_),
                    Text("it could not be written"), Text("check the folder, its permissions and the free space"));
    temporary_.clear();
}

} // namespace palimpsest::app
