#include "storage/left_overs.h"

#include <algorithm>
#include <string>

#include "storage/work_folder.h"

namespace palimpsest::storage {
namespace {

namespace fs = std::filesystem;

uint64_t bytes_in(const fs::path& folder)
{
    uint64_t bytes = 0;
    std::error_code unknown;
    for (fs::directory_iterator entry(folder, unknown), end; entry != end; entry.increment(unknown))
        if (const uintmax_t size = entry->file_size(unknown); !unknown) bytes += size;
    return bytes;
}

// The copy in the making, and what SQLite and `back_up` have beside it.
std::vector<fs::path> files_of_restoring(const fs::path& database)
{
    std::vector<fs::path> files;
    std::error_code unknown;
    for (const char* ending : {"", "-wal", "-shm", "-journal", ".part", ".part-journal"})
        if (fs::path file = restored_part(database).string() + ending;
            fs::symlink_status(file, unknown).type() == fs::file_type::regular)
            files.push_back(std::move(file));
    return files;
}

} // namespace

fs::path restored_part(const fs::path& database)
{
    return database.string() + ".restoring";
}

std::vector<UnusedFile> left_overs(const fs::path& database)
{
    const fs::path place = fs::absolute(database);
    std::vector<UnusedFile> found;
    std::error_code unknown;
    for (const fs::path& folder : WorkFolder::all_of(place))
        found.push_back({folder, bytes_in(folder)});
    for (const fs::path& file : files_of_restoring(place))
        found.push_back({file, fs::file_size(file, unknown)});
    std::ranges::sort(found, {}, &UnusedFile::path);
    return found;
}

bool is_left_over(const fs::path& database, const fs::path& file)
{
    std::error_code unknown;
    return std::ranges::any_of(left_overs(database), [&](const UnusedFile& left) {
        return fs::equivalent(left.path, file, unknown) || fs::equivalent(left.path, file.parent_path(), unknown);
    });
}

std::vector<UnusedFile> remove_left_overs(const fs::path& database)
{
    std::vector<UnusedFile> found = left_overs(database);
    std::error_code ignored;
    for (const UnusedFile& file : found)
        if (fs::is_directory(file.path, ignored))
            WorkFolder::remove(file.path);
        else
            fs::remove(file.path, ignored);
    return found;
}

} // namespace palimpsest::storage
