#include "storage/backup.h"

#include <SQLiteCpp/Statement.h>
#include <SQLiteCpp/Transaction.h>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sqlite3.h>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include "kernels/base/error.h"
#include "storage/backup_files.h"
#include "storage/disk_full.h"
#include "storage/schema.h"

namespace palimpsest::storage {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const fs::path& path, const Text& what)
{
    throw Error(ErrorKind::Failed, ErrorCode::InaccessibleFile, Text::escaped(path.string()), what,
                Text("nothing was changed; check the folder and its permissions"));
}

[[noreturn]] void fail_disk(const fs::path& path, const Text& what)
{
    throw Error(ErrorKind::Resources, ErrorCode::DiskFailed, Text::escaped(path.string()), what,
                Text("nothing was changed; free space or check the disk, and try again"));
}

// Throws Error if making the copy failed, which includes disk errors, because the database is only read. Rethrows
// all other SQLite errors: they concern the database.
[[noreturn]] void fail(SQLite::Database& db, const fs::path& copy, const SQLite::Exception& failure)
{
    const std::string said = failure.getErrorStr();
    const int code = failure.getErrorCode() & 0xFF;
    if (failure.getExtendedErrorCode() == SQLITE_IOERR_NOMEM) throw failure;
    if (disk_is_full(failure, db.getHandle()))
        throw Error(ErrorKind::Resources, ErrorCode::DiskFull, Text::escaped(copy.string()),
                    Text("there is too little space for the backup"), Text("free space"));
    if (code == SQLITE_IOERR) fail_disk(copy, Text("the backup could not be written ({0})", said));
    // VACUUM reports SQLITE_ERROR if it cannot measure the file it made.
    if (code == SQLITE_ERROR || code == SQLITE_CANTOPEN) fail(copy, Text("it cannot be written ({0})", said));
    throw failure;
}

class PrivateFiles { // during its lifetime, new files are readable by the user only
public:
    PrivateFiles() : before_(umask(077)) {}
    ~PrivateFiles() { umask(before_); }
    PrivateFiles(const PrivateFiles&) = delete;
    PrivateFiles& operator=(const PrivateFiles&) = delete;

private:
    mode_t before_;
};

class OneAttached { // permits VACUUM INTO to attach its copy; otherwise nothing may be attached
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

void make_backup_folder(const fs::path& folder)
{
    if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST)
        fail(folder, Text("the folder cannot be made ({0})", std::strerror(errno)));
    struct stat status {};
    if (lstat(folder.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) fail(folder, Text("it is not a folder"));
}

int version(SQLite::Database& db)
{
    return db.execAndGet("PRAGMA user_version").getInt();
}

void check_copy(SQLite::Database& original, const fs::path& copy)
{
    SQLite::Database db(copy.string(), SQLite::OPEN_READONLY | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_EXRESCODE);
    if (db.execAndGet("PRAGMA quick_check(1)").getString() != "ok" || version(db) != version(original))
        fail_disk(copy, Text("a backup was written and does not read back as it should"));
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

// Daily backups leave out checkpoints, which are large and can be computed again, the fade record, which belongs to
// them, and passages with their index, which follow from the text.
bool is_kept(const std::string& table)
{
    for (const char* left_out : {"snapshots", "snapshot_blocks", "blocks", "fading", "passages",
                                 "indexed_documents", "encoded_documents", "passage_vectors"})
        if (table == left_out) return false;
    return !table.starts_with("sqlite_") && !table.starts_with("passage_texts");
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
            db.exec(std::string("INSERT INTO copy.").append(table).append(" SELECT * FROM main.").append(table));
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
    make_backup_folder(to.parent_path());
    forget(part);
    try {
        const PrivateFiles mine;
        copy(db, part);
        sync_to_disk(part);
        check_copy(db, part);
        std::error_code failed;
        fs::rename(part, to, failed);
        if (failed) fail(to, Text("it cannot be written ({0})", failed.message()));
        sync_to_disk(to.parent_path());
    } catch (const SQLite::Exception& failure) {
        forget(part);
        fail(db, to, failure);
    } catch (...) {
        forget(part);
        throw;
    }
}

void keep_newest(const std::vector<fs::path>& files, size_t count)
{
    std::error_code ignored;
    for (size_t i = 0; i + count < files.size(); ++i)
        fs::remove(files[i], ignored);
}

// The weekly backup is a hard link to the daily one. If the file system has no hard links, there are only daily
// ones.
void keep_weekly(const fs::path& database, const fs::path& daily, std::chrono::sys_days today)
{
    const auto weeklies = backups_of(database, "weekly");
    if (!weeklies.empty() && weeklies.back() > dated_backup(database, "weekly", today - std::chrono::days(7)))
        return;
    std::error_code unknown;
    fs::create_hard_link(daily, dated_backup(database, "weekly", today), unknown);
    keep_newest(backups_of(database, "weekly"), 1);
    sync_to_disk(backup_folder(database));
}

// Requires free space of twice the content's size plus 64 MiB.
void check_space(SQLite::Database& db, const fs::path& folder)
{
    const auto text =
        static_cast<uint64_t>(db.execAndGet("SELECT (SELECT coalesce(sum(length(data)), 0) FROM document_blocks) + "
                                            "(SELECT coalesce(sum(length(text) + length(ids)), 0) FROM messages)")
                                  .getInt64());
    std::error_code unknown;
    const fs::space_info space = fs::space(folder, unknown);
    if (unknown || space.available >= 2 * text + (64u << 20)) return;
    throw Error(ErrorKind::Resources, ErrorCode::DiskFull, Text::escaped(folder.string()),
                Text("there is too little space for the daily backup"), Text("free space"));
}

} // namespace

void sync_to_disk(const fs::path& path)
{
    const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (descriptor < 0) fail(path, Text("it cannot be opened ({0})", std::strerror(errno)));
    const bool synced = fsync(descriptor) == 0;
    close(descriptor);
    if (!synced) fail_disk(path, Text("it could not be written safely to the disk"));
}

void back_up(SQLite::Database& db, const fs::path& to)
{
    make(db, to, copy_all);
}

void back_up_daily(SQLite::Database& db, const fs::path& database, std::chrono::sys_days today)
{
    const fs::path daily = dated_backup(database, "daily", today);
    std::error_code unknown;
    if (!fs::exists(daily, unknown)) {
        if (db.execAndGet("SELECT NOT EXISTS(SELECT 1 FROM sessions) AND NOT EXISTS(SELECT 1 FROM documents)")
                .getInt())
            return;
        check_space(db, fs::absolute(database).parent_path());
        remove_unfinished_backups(database);
        make(db, daily, copy_without_states);
    }
    // Also if today's backup is there: the program may have been killed just after it.
    keep_weekly(database, daily, today);
    keep_newest(backups_of(database, "daily"), 3);
}

} // namespace palimpsest::storage
