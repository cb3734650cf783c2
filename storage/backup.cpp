#include "storage/backup.h"

#include <SQLiteCpp/Statement.h>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sqlite3.h>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

#include "kernels/base/error.h"

namespace palimpsest::storage {
namespace {

namespace fs = std::filesystem;

constexpr const char* nothing_changed = "nothing was changed; free space or check the disk, and try again";

[[noreturn]] void fail(const fs::path& path, const std::string& what)
{
    throw Error(ErrorKind::Failed, "PAL-DISK-03", printable(path.string()), what,
                "nothing was changed; check the folder and its permissions");
}

class PrivateFiles { // whatever is made meanwhile is the user's alone (Q13)
public:
    PrivateFiles() : before_(umask(077)) {}
    ~PrivateFiles() { umask(before_); }
    PrivateFiles(const PrivateFiles&) = delete;
    PrivateFiles& operator=(const PrivateFiles&) = delete;

private:
    mode_t before_;
};

class OneAttached { // VACUUM INTO attaches its copy (Q3)
public:
    explicit OneAttached(SQLite::Database& db) : db_(db.getHandle())
    {
        sqlite3_limit(db_, SQLITE_LIMIT_ATTACHED, 1);
    }
    ~OneAttached() { sqlite3_limit(db_, SQLITE_LIMIT_ATTACHED, 0); }
    OneAttached(const OneAttached&) = delete;
    OneAttached& operator=(const OneAttached&) = delete;

private:
    sqlite3* db_;
};

void make_folder(const fs::path& folder)
{
    if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST)
        fail(folder, std::string("the folder cannot be made (") + std::strerror(errno) + ")");
    struct stat status {};
    if (lstat(folder.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) fail(folder, "it is not a folder");
}

// Of a file or a folder.
void sync(const fs::path& path)
{
    const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (descriptor < 0) fail(path, std::string("it cannot be opened (") + std::strerror(errno) + ")");
    const bool synced = fsync(descriptor) == 0;
    close(descriptor);
    if (!synced)
        throw Error(ErrorKind::Resources, "PAL-DISK-02", printable(path.string()), "it could not be flushed",
                    nothing_changed);
}

int version(SQLite::Database& db)
{
    return db.execAndGet("PRAGMA user_version").getInt();
}

void check_copy(SQLite::Database& original, const fs::path& copy)
{
    SQLite::Database db(copy.string(), SQLite::OPEN_READONLY | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_EXRESCODE);
    if (db.execAndGet("PRAGMA quick_check(1)").getString() != "ok" || version(db) != version(original))
        throw Error(ErrorKind::Resources, "PAL-DISK-02", printable(copy.string()),
                    "a backup was written and does not read back as it should", nothing_changed);
}

void forget(const fs::path& part)
{
    std::error_code ignored;
    for (const char* ending : {"", "-journal"})
        fs::remove(part.string() + ending, ignored);
}

void copy_to(SQLite::Database& db, const fs::path& part)
{
    const PrivateFiles mine;
    const OneAttached attached(db);
    SQLite::Statement vacuum(db, "VACUUM INTO ?");
    vacuum.bind(1, part.string());
    vacuum.exec();
}

} // namespace

fs::path backup_folder(const fs::path& database)
{
    return fs::absolute(database).parent_path() / "backups";
}

fs::path before_schema(const fs::path& database, int version)
{
    return backup_folder(database) /
           (database.stem().string() + "-before-schema-" + std::to_string(version) + ".db");
}

void back_up(SQLite::Database& db, const fs::path& to)
{
    const fs::path part = to.string() + ".part";
    make_folder(to.parent_path());
    forget(part);
    try {
        copy_to(db, part);
        sync(part);
        check_copy(db, part);
        std::error_code failed;
        fs::rename(part, to, failed);
        if (failed) fail(to, "it cannot be written (" + failed.message() + ")");
        sync(to.parent_path());
    } catch (...) {
        forget(part);
        throw;
    }
}

} // namespace palimpsest::storage
