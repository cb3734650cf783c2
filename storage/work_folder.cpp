#include "storage/work_folder.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "kernels/base/error.h"
#include "storage/readable_copy.h"

namespace palimpsest::storage {
namespace {

namespace fs = std::filesystem;

constexpr const char* damaged_name = "damaged.db";
constexpr const char* made_name = "made.db";
constexpr const char* endings[] = {"", "-wal", "-shm", "-journal", ".lock"}; // of both
constexpr std::string_view random_part = "XXXXXX";                           // as mkdtemp(3) wants it

std::string folder_prefix(const fs::path& database)
{
    return database.filename().string() + ".rescue-";
}

bool is_file_of_rescue(const std::string& name)
{
    for (const char* database : {damaged_name, made_name})
        for (const char* ending : endings)
            if (name == std::string(database) + ending) return true;
    return false;
}

// A folder of the user may have such a name.
bool holds_only_files_of_rescue(const fs::path& folder)
{
    std::error_code failed;
    fs::directory_iterator entry(folder, failed);
    for (const fs::directory_iterator end; !failed && entry != end; entry.increment(failed))
        if (!is_file_of_rescue(entry->path().filename().string()) ||
            entry->symlink_status(failed).type() != fs::file_type::regular)
            return false;
    return !failed;
}

[[noreturn]] void refuse_folder(const fs::path& database, int reason)
{
    if (reason == ENOSPC || reason == EDQUOT) refuse_copy(database, reason);
    throw Error(ErrorKind::Failed, ErrorCode::InaccessibleFile, Text::escaped(database.parent_path().string()),
                Text("the folder cannot be made ({0})", std::strerror(reason)),
                Text("nothing was changed; check the folder and its permissions"));
}

} // namespace

std::vector<fs::path> WorkFolder::all_of(const fs::path& database)
{
    std::vector<fs::path> folders;
    const std::string prefix = folder_prefix(database);
    std::error_code none;
    for (fs::directory_iterator entry(database.parent_path(), none), end; entry != end; entry.increment(none)) {
        const std::string name = entry->path().filename().string();
        if (name.starts_with(prefix) && name.size() == prefix.size() + random_part.size() &&
            entry->symlink_status(none).type() == fs::file_type::directory &&
            holds_only_files_of_rescue(entry->path()))
            folders.push_back(entry->path());
    }
    return folders;
}

void WorkFolder::remove(const fs::path& folder)
{
    std::error_code ignored;
    for (const char* name : {damaged_name, made_name})
        for (const char* ending : endings)
            fs::remove(folder / (std::string(name) + ending), ignored);
    fs::remove(folder, ignored);
}

WorkFolder::WorkFolder(const fs::path& database)
{
    std::string name = (database.parent_path() / folder_prefix(database)).string().append(random_part);
    if (!mkdtemp(name.data())) refuse_folder(database, errno);
    folder_ = name;
}

WorkFolder::~WorkFolder()
{
    remove(folder_);
}

fs::path WorkFolder::damaged() const
{
    return folder_ / damaged_name;
}

fs::path WorkFolder::made() const
{
    return folder_ / made_name;
}

} // namespace palimpsest::storage
