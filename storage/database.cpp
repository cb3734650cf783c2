#include "storage/database.h"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <sqlite3.h>
#include <string_view>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <utility>

#include "kernels/base/error.h"
#include "kernels/base/printable.h"
#include "storage/backup.h"
#include "storage/backup_files.h"
#include "storage/disk_full.h"
#include "storage/known_pages.h"
#include "storage/page_check.h"
#include "storage/schema.h"
#include "storage/setting_aside.h"

namespace palimpsest::storage {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse_file(const fs::path& file, const Text& what, const Text& remedy)
{
    throw Error(ErrorKind::Failed, ErrorCode::InaccessibleDatabase, Text::escaped(file.string()), what, remedy);
}

[[noreturn]] void refuse_without_sessions(const fs::path& file)
{
    throw Error(ErrorKind::NotFound, ErrorCode::DatabaseNotFound, Text::escaped(file.string()),
                Text("there are no sessions yet"), Text(Step::BeginSession));
}

// Whether a message of SQLite with the code SQLITE_ERROR is about a damaged full-text index. Its message about a
// wrong statement names the mistake instead.
bool is_about_index(std::string_view said)
{
    return said == sqlite3_errstr(SQLITE_ERROR) || said.starts_with("invalid fts5");
}

[[noreturn]] void refuse_statement(const Text& subject, const std::string& said)
{
    throw Error(ErrorKind::Internal, ErrorCode::RefusedStatement, subject,
                Text("the database refused a request ({0})", said), Text("report this as a bug"));
}

[[noreturn]] void refuse_damaged(const fs::path& file, const Text& what)
{
    throw Error(ErrorKind::Failed, ErrorCode::DamagedDatabase, Text::escaped(file.string()),
                Text("it is damaged ({0})", what), restoring_advice(file));
}

// Returns the URI with which SQLite opens a file as immutable: without locks, and without a log beside it
// (https://www.sqlite.org/uri.html).
std::string immutable_uri(const fs::path& file)
{
    std::string uri = "file:";
    for (const unsigned char c : fs::weakly_canonical(file).string()) {
        constexpr std::string_view hex = "0123456789ABCDEF";
        const bool is_plain = std::isalnum(c) != 0 || c == '/' || c == '.' || c == '-' || c == '_';
        is_plain ? uri += static_cast<char>(c) : uri += {'%', hex[c >> 4], hex[c & 15]};
    }
    return uri + "?immutable=1";
}

// Returns null if the database has an owner, or if its last owner shut down cleanly.
std::unique_ptr<OwnerLock> try_lock_after_crash(const fs::path& file)
try {
    std::error_code none;
    if (const auto bytes = fs::file_size(file, none); none || bytes == 0) return nullptr;
    return std::make_unique<OwnerLock>(file, std::chrono::milliseconds(0));
} catch (const Error&) {
    return nullptr;
}

void make_database_folder(const fs::path& folder)
{
    std::error_code failed;
    if (folder.empty() || fs::exists(folder, failed)) return;
    fs::create_directories(folder, failed);
    if (failed)
        refuse_file(folder, Text("the folder cannot be made ({0})", failed.message()),
                    Text("check the path and its permissions"));
    fs::permissions(folder, fs::perms::owner_all, failed);
}

// Every connection enforces foreign keys and trusts neither the schema nor page contents. A writer's commit returns
// when it is on stable storage.
constexpr const char* every_connection = "PRAGMA foreign_keys = ON; PRAGMA trusted_schema = OFF; "
                                         "PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0; "
                                         "PRAGMA temp_store = MEMORY; PRAGMA recursive_triggers = OFF;";
constexpr const char* before_tables = "PRAGMA page_size = 8192; PRAGMA auto_vacuum = INCREMENTAL;";
constexpr const char* writer = "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; "
                               "PRAGMA journal_size_limit = 67108864; PRAGMA secure_delete = FAST;";
constexpr const char* network_writer = "PRAGMA journal_mode = DELETE; "
                                       "PRAGMA synchronous = EXTRA; PRAGMA secure_delete = FAST;";
constexpr int most_log_pages = 1000; // triggers a WAL checkpoint

// Recognises network file systems by their magic number, see statfs(2): NFS, SMB (three numbers), 9P, AFS, Ceph,
// Coda, and FUSE, which includes sshfs. For a new database, looks at its folder.
Database::Place place_of(const fs::path& file)
{
    constexpr uint32_t network[] = {0x6969,     0x517B,     0xFF534D42, 0xFE534D42, 0x01021997,
                                    0x5346414F, 0x00C36400, 0x73757245, 0x65735546};
    struct statfs status {};
    const fs::path whole = fs::absolute(file);
    if (statfs(whole.c_str(), &status) != 0 && statfs(whole.parent_path().c_str(), &status) != 0)
        return Database::Place::Local;
    const bool found = std::find(std::begin(network), std::end(network), static_cast<uint32_t>(status.f_type)) !=
                       std::end(network);
    return found ? Database::Place::Network : Database::Place::Local;
}

// A reader would see an older database, unless its owner is about to replace it.
void finish_setting_aside(const fs::path& file)
{
    std::optional<OwnerLock> lock;
    try {
        lock.emplace(file.string() + ".lock", std::chrono::milliseconds(0));
    } catch (const Error&) {
        return; // its owner is about to replace it, or nothing can be written here: it can be read all the same
    }
    undo_setting_aside(file);
    if (!lock->ended_uncleanly()) lock->mark_clean_shutdown();
}

// How long shrink() waits for readers to release the log. Shorter than busy_timeout, because the next writer waits
// for shrink().
constexpr std::chrono::milliseconds patience_with_readers{500};

} // namespace

void check_owner(const fs::path& file)
{
    struct stat status {};
    if (lstat(file.c_str(), &status) != 0) return;
    if (!S_ISREG(status.st_mode)) refuse_file(file, Text("it is not a regular file"), Text(Step::ChooseDatabase));
    if (status.st_uid != geteuid())
        refuse_file(file, Text("it belongs to another user"), Text(Step::ChooseDatabase));
    if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
        refuse_file(file, Text("others may write it"),
                    Text("remove that permission: chmod 600 {0}", printable(file.string())));
}

Database::Database(const fs::path& file, Access access, std::optional<Place> place, const CheckLimit& limit)
    : file_(file)
{
    if (access == Access::Write) {
        make_database_folder(file.parent_path());
        check_owner(file);
        lock_ = std::make_unique<OwnerLock>(file.string() + ".lock", busy_timeout);
        undo_setting_aside(file);
    } else if (!fs::exists(file)) {
        refuse_without_sessions(file);
    } else if (access == Access::Read && is_set_aside(file)) {
        finish_setting_aside(file);
    }
    place_ = place ? *place : place_of(file);
    guarded([&] { open(access, limit); });
}

Database::~Database()
{
    sql_.reset();
    if (lock_ && !suspect_ && !found_damage_ && !check_is_unfinished_) lock_->mark_clean_shutdown();
}

Database::Database() : file_(":memory:")
{
    guarded([&] { open(Access::Write, {}); });
}

void Database::open(Access access, const CheckLimit& limit)
{
    const bool writes = access == Access::Write;
    const mode_t before = umask(077);
    try {
        const bool is_immutable = access == Access::Immutable;
        const int flags = (writes ? SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE : SQLite::OPEN_READONLY) |
                          (is_immutable ? SQLite::OPEN_URI : 0) | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_EXRESCODE;
        const std::string name = in_memory()    ? file_.string()
                                 : is_immutable ? immutable_uri(file_)
                                                : fs::absolute(file_).string();
        sql_ = std::make_unique<SQLite::Database>(name, flags, static_cast<int>(busy_timeout.count()));
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
    // Before the first access, which in WAL mode creates a shared index.
    if (writes && place_ == Place::Network) sql_->exec("PRAGMA locking_mode = EXCLUSIVE");

    const int version = version_of(*sql_);
    if (version > schema_version && writes && find_known_version(*sql_))
        refuse_damaged(file_, Text("its first page"));
    if (version > schema_version && writes)
        throw Error(ErrorKind::Failed, ErrorCode::NewerDatabase, Text::escaped(file_.string()),
                    Text("it was written by a newer version of Palimpsest and is only readable here"),
                    Text("update Palimpsest, or {0}", Step::ChooseDatabase));
    if (writes) {
        if (version == 0) sql_->exec(before_tables);
        set_up_writer();
        if (version > 0) check_after_unclean_stop(limit);
        if (version > 0 && version < schema_version) {
            check_schema(*sql_, version);
            back_up(*sql_, before_schema(file_, schema_version));
        }
        if (version < schema_version) migrate(*sql_);
    }
    if (!writes && version == 0) refuse_without_sessions(file_);
    if (version > schema_version) return;
    check_schema(*sql_, writes ? schema_version : version);
    if (!writes) add_compatibility_views(*sql_, version);
}

void Database::set_up_writer()
{
    if (place_ == Place::Network) return sql_->exec(network_writer), void();
    sql_->exec(writer);
    const auto committed = [](void* self, sqlite3*, const char*, int log_pages) {
        static_cast<Database*>(self)->checkpoint_when_long(log_pages);
        return SQLITE_OK; // the commit is valid even if the WAL checkpoint failed
    };
    sqlite3_wal_hook(sql_->getHandle(), committed, this);
}

// Runs the quick check if the last owner did not shut down cleanly.
void Database::check_after_unclean_stop(const CheckLimit& limit)
{
    if (!lock_ || !lock_->ended_uncleanly()) return;
    const auto end = std::chrono::steady_clock::now() + limit.time;
    const auto go_on = [&] { return std::chrono::steady_clock::now() < end && (!limit.go_on || limit.go_on()); };
    const auto found = check_pages(*sql_, PageCheck::Quick, go_on);
    check_is_unfinished_ = !found;
    if (found && !found->empty()) refuse_damaged(file_, Text::escaped(*found));
}

bool check_integrity(const fs::path& file, const std::function<bool()>& go_on)
{
    if (!fs::exists(file)) refuse_without_sessions(file);
    const auto lock = try_lock_after_crash(file.string() + ".lock");
    Database database(file, Database::Access::Read);
    return database.guarded([&] {
        const auto found = check_pages(database.sql(), PageCheck::Whole, go_on);
        if (!found) return false;
        if (!found->empty()) refuse_damaged(file, Text::escaped(*found));
        auto orphan = database.statement("PRAGMA foreign_key_check");
        if (orphan.executeStep())
            refuse_damaged(file, Text("a row of '{0}' names another that is not there",
                                      printable(orphan.getColumn(0).getString())));
        if (lock) lock->mark_clean_shutdown();
        return true;
    });
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

void Database::remove_unreferenced_blocks()
{
    sql_->exec("DELETE FROM blocks WHERE id NOT IN (SELECT block FROM snapshot_blocks)");
}

void Database::shrink(const std::function<void(int)>& returned)
{
    guarded([&] {
        refuse_if_suspect();
        const auto free_pages = [&] { return sql_->execAndGet("PRAGMA freelist_count").getInt64(); };
        const int64_t all = free_pages();
        for (int64_t left = all, before = all + 1; left > 0 && left < before;) {
            sql_->exec("PRAGMA incremental_vacuum(2000)"); // 16 MiB: the log stays short
            before = std::exchange(left, free_pages());
            if (returned) returned(static_cast<int>(100 * (all - left) / all));
        }
        sql_->setBusyTimeout(static_cast<int>(patience_with_readers.count()));
        sql_->exec("PRAGMA wal_checkpoint(TRUNCATE)");
        sql_->setBusyTimeout(static_cast<int>(busy_timeout.count()));
    });
}

// Replaces SQLite's automatic WAL checkpoint, which would hide a failed flush and flush again at the next commit.
// If the disk is full, the log only stays long.
void Database::checkpoint_when_long(int log_pages)
{
    if (log_pages < most_log_pages || suspect_) return;
    const int result =
        sqlite3_wal_checkpoint_v2(sql_->getHandle(), nullptr, SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
    if ((result & 0xFF) == SQLITE_IOERR) suspect();
}

// After a failed flush the system may drop the pages and report success next time. So this connection writes
// nothing more, not even a WAL checkpoint on close.
void Database::suspect()
{
    suspect_ = true;
    if (!sql_) return;
    sqlite3_db_config(sql_->getHandle(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
    sql_->tryExec("PRAGMA query_only = ON");
}

void Database::refuse_if_suspect() const
{
    if (!suspect_) return;
    throw Error(ErrorKind::Resources, ErrorCode::DiskFailed, Text::escaped(file_.string()),
                Text("reading or writing failed before, and nothing is written since; what was saved is safe"),
                Text("check the disk, copy the file elsewhere and start again"));
}

void Database::fail(const SQLite::Exception& failure)
{
    const Text subject = Text::escaped(file_.string());
    const std::string said = failure.getErrorStr();
    // The file has a rollback journal, so a process died while creating it: later, the file uses a write-ahead log.
    if (place_ != Place::Network && failure.getExtendedErrorCode() == SQLITE_READONLY_ROLLBACK)
        refuse_without_sessions(file_);
    const int code = failure.getErrorCode() & 0xFF;
    if (code == SQLITE_CORRUPT) found_damage_ = true;
    if (code != SQLITE_CORRUPT && code != SQLITE_NOTADB) refuse_if_suspect();
    if (failure.getExtendedErrorCode() == SQLITE_IOERR_NOMEM || code == SQLITE_NOMEM)
        throw Error(ErrorKind::Resources, ErrorCode::OutOfMemory, subject,
                    Text("there is not enough memory for it"), Text("close other programs"));
    if (disk_is_full(failure, sql_ ? sql_->getHandle() : nullptr))
        throw Error(ErrorKind::Resources, ErrorCode::DiskFull, subject,
                    Text("the disk is full; nothing that was saved is lost"), Text("free space and try again"));
    switch (code) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL:
        throw Error(ErrorKind::Busy, ErrorCode::BusyDatabase, subject, Text("another process is writing it"),
                    Text("try again, or close that process"));
    case SQLITE_IOERR:
        suspect();
        throw Error(ErrorKind::Resources, ErrorCode::DiskFailed, subject,
                    Text("reading or writing failed ({0})", said),
                    Text("what was saved is safe; check the disk, copy the file elsewhere and start again"));
    case SQLITE_CORRUPT:
        refuse_damaged(file_, Text::verbatim(said));
    case SQLITE_NOTADB:
        if (!backups_of(file_).empty() || has_known_pages(file_)) // so it was a Palimpsest database
            refuse_damaged(file_, Text::verbatim(said));
        throw Error(ErrorKind::Failed, ErrorCode::NotADatabase, subject, Text("it is not a database"),
                    Text(Step::ChooseDatabase));
    case SQLITE_ERROR:
        if (has_damaged_header(file_) || is_about_index(failure.what()))
            refuse_damaged(file_, Text::verbatim(said));
        refuse_statement(subject, said);
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
        if (has_damaged_header(file_)) refuse_damaged(file_, Text("its first page"));
        throw Error(ErrorKind::Failed, ErrorCode::InaccessibleDatabase, subject,
                    Text("it cannot be opened or written ({0})", said),
                    Text("check its permissions and those of its folder"));
    default:
        refuse_statement(subject, said);
    }
}

} // namespace palimpsest::storage
