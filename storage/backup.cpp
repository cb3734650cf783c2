#include "storage/backup.h"

#include <SQLiteCpp/Statement.h>
#include <SQLiteCpp/Transaction.h>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sqlite3.h>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

#include "kernels/base/error.h"
#include "storage/database.h"
#include "storage/schema.h"

namespace palimpsest::storage {
namespace {

namespace fs = std::filesystem;

constexpr const char* nothing_changed = "nothing was changed; free space or check the disk, and try again";

[[noreturn]] void fail(const fs::path& path, const std::string& what)
{
    throw Error(ErrorKind::Failed, "PAL-DISK-03", printable(path.string()), what,
                "nothing was changed; check the folder and its permissions");
}

// The database is only read here, so a disk error concerns the copy, and the database stays usable. All other
// SQLite errors concern the database and are rethrown for its owner.
[[noreturn]] void fail(SQLite::Database& db, const fs::path& copy, const SQLite::Exception& failure)
{
    const std::string subject = printable(copy.string());
    const std::string said = std::string(" (") + failure.getErrorStr() + ")";
    const int code = failure.getErrorCode() & 0xFF;
    if (failure.getExtendedErrorCode() == SQLITE_IOERR_NOMEM) throw failure;
    if (disk_is_full(failure, db.getHandle()))
        throw Error(ErrorKind::Resources, "PAL-DISK-01", subject, "there is too little space for the backup",
                    "free space");
    if (code == SQLITE_IOERR)
        throw Error(ErrorKind::Resources, "PAL-DISK-02", subject, "the backup could not be written" + said,
                    nothing_changed);
    // VACUUM reports SQLITE_ERROR if it cannot measure the file it made.
    if (code == SQLITE_ERROR || code == SQLITE_CANTOPEN) fail(copy, "it cannot be written" + said);
    throw failure;
}

class PrivateFiles { // files created meanwhile are readable by the user only
public:
    PrivateFiles() : before_(umask(077)) {}
    ~PrivateFiles() { umask(before_); }
    PrivateFiles(const PrivateFiles&) = delete;
    PrivateFiles& operator=(const PrivateFiles&) = delete;

private:
    mode_t before_;
};

class OneAttached { // VACUUM INTO attaches its copy, which connections otherwise forbid
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

// Works for files and folders.
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

void copy_all(SQLite::Database& db, const fs::path& part)
{
    const OneAttached attached(db);
    SQLite::Statement vacuum(db, "VACUUM INTO ?");
    vacuum.bind(1, part.string());
    vacuum.exec();
}

// Checkpoints are most of the bytes and can be computed again; the fade record belongs to them.
bool is_kept(const std::string& table)
{
    for (const char* left_out : {"snapshots", "snapshot_blocks", "blocks", "fading"})
        if (table == left_out) return false;
    return !table.starts_with("sqlite_");
}

// In order of creation, so that referenced tables come before those that reference them.
std::vector<std::string> kept_tables(SQLite::Database& db)
{
    std::vector<std::string> tables;
    SQLite::Statement query(db, "SELECT name FROM main.sqlite_schema WHERE type = 'table' ORDER BY rowid");
    while (query.executeStep())
        if (const std::string name = query.getColumn(0).getString(); is_kept(name)) tables.push_back(name);
    return tables;
}

void copy_without_states(SQLite::Database& db, const fs::path& part)
{
    {
        SQLite::Database made(part.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE | SQLITE_OPEN_NOFOLLOW);
        made.exec("PRAGMA page_size = 8192; PRAGMA auto_vacuum = INCREMENTAL;");
        migrate(made);
    }
    const OneAttached attached(db);
    SQLite::Statement attach(db, "ATTACH ? AS copy");
    attach.bind(1, part.string());
    attach.exec();
    try {
        SQLite::Transaction all(db);
        for (const std::string& table : kept_tables(db))
            db.exec("INSERT INTO copy." + table + " SELECT * FROM main." + table);
        all.commit();
    } catch (...) {
        db.tryExec("DETACH copy");
        throw;
    }
    db.exec("DETACH copy");
}

template<class Copy>
void make(SQLite::Database& db, const fs::path& to, Copy&& copy)
{
    const fs::path part = to.string() + ".part";
    make_folder(to.parent_path());
    forget(part);
    try {
        const PrivateFiles mine;
        copy(db, part);
        sync(part);
        check_copy(db, part);
        std::error_code failed;
        fs::rename(part, to, failed);
        if (failed) fail(to, "it cannot be written (" + failed.message() + ")");
        sync(to.parent_path());
    } catch (const SQLite::Exception& failure) {
        forget(part);
        fail(db, to, failure);
    } catch (...) {
        forget(part);
        throw;
    }
}

std::string prefix(const fs::path& database, const char* kind)
{
    return database.stem().string() + "-" + kind + "-";
}

// Oldest first: the names end with a date or a number.
std::vector<fs::path> files_of(const fs::path& database, const char* kind)
{
    std::vector<fs::path> files;
    std::error_code none;
    for (fs::directory_iterator entry(backup_folder(database), none), end; entry != end; entry.increment(none)) {
        const std::string name = entry->path().filename().string();
        if (name.starts_with(prefix(database, kind)) && name.ends_with(".db")) files.push_back(entry->path());
    }
    std::sort(files.begin(), files.end());
    return files;
}

fs::path dated(const fs::path& database, const char* kind, std::chrono::sys_days day)
{
    const std::chrono::year_month_day date(day);
    char text[32];
    std::snprintf(text, sizeof text, "%04d-%02u-%02u", static_cast<int>(date.year()),
                  static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()));
    return backup_folder(database) / (prefix(database, kind) + text + ".db");
}

void keep_newest(const std::vector<fs::path>& files, size_t count)
{
    std::error_code ignored;
    for (size_t i = 0; i + count < files.size(); ++i)
        fs::remove(files[i], ignored);
}

// Requires twice the content's size and 64 MiB of free space.
void check_space(SQLite::Database& db, const fs::path& folder)
{
    const auto text =
        static_cast<uint64_t>(db.execAndGet("SELECT (SELECT coalesce(sum(length(data)), 0) FROM document_blocks) + "
                                            "(SELECT coalesce(sum(length(text) + length(ids)), 0) FROM messages)")
                                  .getInt64());
    std::error_code unknown;
    const fs::space_info space = fs::space(folder, unknown);
    if (unknown || space.available >= 2 * text + (64u << 20)) return;
    throw Error(ErrorKind::Resources, "PAL-DISK-01", printable(folder.string()),
                "there is too little space for the daily backup", "free space");
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
    make(db, to, copy_all);
}

void back_up_daily(SQLite::Database& db, const fs::path& database, std::chrono::sys_days today)
{
    const fs::path daily = dated(database, "daily", today);
    std::error_code unknown;
    if (fs::exists(daily, unknown)) return;
    if (db.execAndGet("SELECT NOT EXISTS(SELECT 1 FROM sessions) AND NOT EXISTS(SELECT 1 FROM documents)").getInt())
        return;
    check_space(db, fs::absolute(database).parent_path());
    make(db, daily, copy_without_states);
    const auto dailies = files_of(database, "daily"), weeklies = files_of(database, "weekly");
    if (weeklies.empty() || weeklies.back() <= dated(database, "weekly", today - std::chrono::days(7))) {
        // Hard link to the same bytes. If the file system has no hard links, only the daily backups remain.
        fs::create_hard_link(daily, dated(database, "weekly", today), unknown);
        keep_newest(files_of(database, "weekly"), 1);
    }
    keep_newest(dailies, 3);
    sync(backup_folder(database));
}

std::vector<fs::path> backups_of(const fs::path& database)
{
    std::vector<fs::path> all;
    for (const char* kind : {"before-schema", "weekly", "daily"})
        for (const fs::path& file : files_of(database, kind))
            all.push_back(file);
    const auto written = [](const fs::path& file) {
        std::error_code unknown;
        return fs::last_write_time(file, unknown);
    };
    std::stable_sort(all.begin(), all.end(),
                     [&](const fs::path& a, const fs::path& b) { return written(a) < written(b); });
    return all;
}

void remove_backups(const fs::path& database)
{
    std::error_code ignored;
    for (const fs::path& file : backups_of(database))
        fs::remove(file, ignored);
}

std::string restoring_advice(const fs::path& database)
{
    const auto backups = backups_of(database);
    if (backups.empty())
        return "it was left as it is and there is no backup; copy it elsewhere, or give another --db";
    return "it was left as it is; move it and its -wal elsewhere and copy the newest backup to its place: " +
           printable(backups.back().string());
}

} // namespace palimpsest::storage
