#include "storage/file_state.h"

#include <sys/stat.h>

namespace palimpsest::storage {

std::optional<FileState> FileState::of(const std::filesystem::path& file)
{
    struct stat status {};
    if (stat(file.c_str(), &status) != 0) return std::nullopt;
    return FileState{.device = status.st_dev,
                     .inode = status.st_ino,
                     .bytes = static_cast<uint64_t>(status.st_size),
                     .changed_ns = int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec};
}

} // namespace palimpsest::storage
