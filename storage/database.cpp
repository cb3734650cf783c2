#include "storage/database.h"

#include <cerrno>
#include <cstring>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernels/base/error.h"
#include "storage/schema.h"

namespace palimpsest::storage {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse_file(const fs::path& file, const std::string& what, const std::string& remedy)
{
    throw Error(ErrorKind::Failed, "PAL-DB-01", printable(file.string()), what, remedy);
}

[[noreturn]] void refuse_without_sessions(const fs::path& file)
{
    throw Error(ErrorKind::NotFound, "PAL-DB-00", printable(file.string()), "there are no sessions yet",
                "read a document with palimpsest read FILE --session NAME");
}

void make_folder(const fs::path& folder)
{
    std::error_code failed;
    if (folder.empty() || fs::exists(folder, failed)) return;
    fs::create_directories(folder, failed);
    if (failed)
        refuse_file(folder, "the folder cannot be made (" + failed.message() + ")",
                    "check the path and its permissions");
    fs::permissions(folder, fs::perms::owner_all, failed);
}

// Q13: the file is the user's own, and nobody else can write it.
void check_owner(const fs::path& file)
{
    struct stat status {};
    if (lstat(file.c_str(), &status) != 0) return;
    if (!S_ISREG(status.st_mode)) refuse_file(file, "it is not a regular file", "give another --db");
    if (status.st_uid != geteuid()) refuse_file(file, "it belongs to another user", "give another --db");
    if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
        refuse_file(file, "others may write it", "take that right away: chmod 600 " + printable(file.string()));
}

// Q3 and Q4.
constexpr const char* every_connection = "PRAGMA foreign_keys = ON; PRAGMA trusted_schema = OFF; "
                                         "PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0; "
                                         "PRAGMA temp_store = MEMORY; PRAGMA recursive_triggers = OFF;";
constexpr const char* before_tables = "PRAGMA page_size = 8192; PRAGMA auto_vacuum = INCREMENTAL;";
constexpr const char* writer = "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; "
                               "PRAGMA wal_autocheckpoint = 1000; PRAGMA journal_size_limit = 67108864; "
                               "PRAGMA secure_delete = FAST;";

// The owner who waits for readers to leave the log makes the next writer wait, whose patience is the longer one.
constexpr std::chrono::milliseconds patience_with_readers{500};

} // namespace

Database::Database(const fs::path& file, Access access) : file_(file)
{
    if (access == Access::Write) {
        make_folder(file.parent_path());
        check_owner(file);
        lock_ = std::make_unique<OwnerLock>(file.string() + ".lock", patience);
    } else if (!fs::exists(file)) {
        refuse_without_sessions(file);
    }
    guarded([&] { open(access); });
}

Database::Database() : file_(":memory:")
{
    guarded([&] { open(Access::Write); });
}

void Database::open(Access access)
{
    const bool writes = access == Access::Write;
    const mode_t before = umask(077);
    try {
        const bool in_memory = file_ == ":memory:";
        const int flags = (writes ? SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE : SQLite::OPEN_READONLY) |
                          SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_EXRESCODE;
        sql_ = std::make_unique<SQLite::Database>(in_memory ? file_.string() : fs::absolute(file_).string(), flags,
                                                  static_cast<int>(patience.count()));
        umask(before);
    } catch (...) {
        umask(before);
        throw;
    }
    sqlite3* handle = sql_->getHandle();
    sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, nullptr);
    sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, 32 << 20);
    sqlite3_limit(handle, SQLITE_LIMIT_SQL_LENGTH, 1 << 20);
    sqlite3_limit(handle, SQLITE_LIMIT_ATTACHED, 0);
    sql_->exec(every_connection);

    const int version = version_of(*sql_);
    if (version > schema_version && writes)
        throw Error(ErrorKind::Failed, "PAL-DB-05", printable(file_.string()),
                    "it was written by a newer version of Palimpsest and is only readable here",
                    "update Palimpsest, or give another --db");
    if (writes) {
        if (version == 0) sql_->exec(before_tables);
        sql_->exec(writer);
        if (version < schema_version) migrate(*sql_);
    }
    if (!writes && version == 0) refuse_without_sessions(file_);
    if (version <= schema_version) check_schema(*sql_);
}

uint64_t Database::file_bytes() const
{
    std::error_code unknown;
    uint64_t total = 0;
    for (const char* ending : {"", "-wal"}) {
        const auto bytes = fs::file_size(file_.string() + ending, unknown);
        if (!unknown) total += bytes;
    }
    return total;
}

void Database::remove_unnamed_blocks()
{
    sql_->exec("DELETE FROM blocks WHERE id NOT IN (SELECT block FROM snapshot_blocks)");
}

void Database::shrink()
{
    guarded([&] {
        sql_->exec("PRAGMA incremental_vacuum");
        sql_->setBusyTimeout(static_cast<int>(patience_with_readers.count()));
        sql_->exec("PRAGMA wal_checkpoint(TRUNCATE)");
        sql_->setBusyTimeout(static_cast<int>(patience.count()));
    });
}

void Database::fail(const SQLite::Exception& failure) const
{
    const std::string subject = printable(file_.string());
    const std::string said = std::string(" (") + failure.getErrorStr() + ")";
    // The journal of one who died while making the file: from then on it has a log instead.
    if (failure.getExtendedErrorCode() == SQLITE_READONLY_ROLLBACK) refuse_without_sessions(file_);
    switch (failure.getErrorCode() & 0xFF) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        throw Error(ErrorKind::Busy, "PAL-DB-07", subject, "another process is writing it",
                    "try again, or close it");
    case SQLITE_FULL:
        throw Error(ErrorKind::Resources, "PAL-DISK-01", subject,
                    "the disk is full; nothing that was saved is lost", "free space and try again");
    case SQLITE_IOERR:
        throw Error(ErrorKind::Resources, "PAL-DISK-02", subject, "reading or writing failed" + said,
                    "check the disk; copy the file elsewhere");
    case SQLITE_CORRUPT:
        throw Error(ErrorKind::Failed, "PAL-DB-03", subject, "it is damaged" + said,
                    "nothing was changed; copy it elsewhere and restore a backup, or give another --db");
    case SQLITE_NOTADB:
        throw Error(ErrorKind::Failed, "PAL-DB-02", subject, "it is not a database", "give another --db");
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
        throw Error(ErrorKind::Failed, "PAL-DB-01", subject, "it cannot be opened or written" + said,
                    "check its permissions and those of its folder");
    case SQLITE_NOMEM:
        throw Error(ErrorKind::Resources, "PAL-MEM-01", subject, "there is not enough memory for it",
                    "close other programs");
    default:
        throw Error(ErrorKind::Internal, "PAL-DB-70", subject, "the database refused a request" + said,
                    "report this as a bug");
    }
}

} // namespace palimpsest::storage
