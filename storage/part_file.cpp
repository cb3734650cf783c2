#include "storage/part_file.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <string_view>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace palimpsest::storage {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view made_by_mkstemp = "XXXXXX"; // see mkstemp(3)

std::string part_prefix(const fs::path& file)
{
    return file.string() + ".palimpsest-part-"; // nobody else names a file so
}

// The part itself last: it is what a later process finds.
void remove_part(const fs::path& part)
{
    std::error_code ignored;
    for (const char* ending : {".db", ".db-wal", ".db-shm", ".db-journal", ".db.lock", ""})
        fs::remove(part.string() + ending, ignored);
}

bool is_part(const fs::path& path, const std::string& prefix)
{
    const std::string name = path.string();
    return name.size() == prefix.size() + made_by_mkstemp.size() && name.starts_with(prefix) &&
           std::all_of(name.begin() + static_cast<std::ptrdiff_t>(prefix.size()), name.end(),
                       [](unsigned char c) { return std::isalnum(c) != 0; });
}

// May remove a part that another process has made and not locked yet. That process notices it (lock_part) and makes
// another part.
void remove_if_unlocked(const fs::path& part)
{
    const int file = ::open(part.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (file < 0) return;
    struct stat status {};
    const bool is_own = fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid();
    if (is_own && flock(file, LOCK_EX | LOCK_NB) == 0) remove_part(part);
    ::close(file);
}

// Locks a new part. Returns false if another process has removed it meanwhile. On a file
// system without locks returns true, and remove_if_unlocked removes nothing there.
bool lock_part(int file)
{
    if (flock(file, LOCK_EX | LOCK_NB) != 0) return errno != EWOULDBLOCK;
    struct stat status {};
    return fstat(file, &status) != 0 || status.st_nlink > 0;
}

} // namespace

PartFile::PartFile(fs::path file) : file_(std::move(file))
{
    remove_left_parts(file_);
    for (;;) {
        std::string name = part_prefix(file_).append(made_by_mkstemp);
        lock_ = mkostemp(name.data(), O_CLOEXEC);
        if (lock_ < 0)
            throw Error(ErrorKind::Failed, ErrorCode::InaccessibleFile, Text::escaped(file_.string()),
                        Text("it cannot be written ({0})", std::strerror(errno)),
                        Text("check the folder and its permissions"));
        part_ = name;
        if (lock_part(lock_)) return;
        ::close(lock_);
    }
}

PartFile::~PartFile()
{
    remove_part(part_);
    ::close(lock_);
}

std::error_code PartFile::finish(const fs::path& made) const
{
    std::error_code failed;
    fs::rename(made, file_, failed);
    return failed;
}

void remove_left_parts(const fs::path& file)
{
    const std::string prefix = part_prefix(fs::absolute(file));
    std::error_code none;
    for (fs::directory_iterator entry(fs::absolute(file).parent_path(), none), end; entry != end;
         entry.increment(none))
        if (is_part(entry->path(), prefix)) remove_if_unlocked(entry->path());
}

Error with_file_name(const Error& error, const fs::path& part, const fs::path& file)
{
    constexpr const char* endings[] = {"", ".lock", ".part"};
    const auto is_subject = [&](const char* ending) {
        return error.subject() == Text::escaped(part.string() + ending);
    };
    if (std::ranges::none_of(endings, is_subject)) return error;
    return {error.kind(), error.code(), Text::escaped(file.string()), error.text(), error.remedy(), error.offset()};
}

} // namespace palimpsest::storage
