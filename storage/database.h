// The user's one SQLite file: how it is opened, who owns it, and what every connection promises (reliability.md,
// Q).
#pragma once

#include <SQLiteCpp/Column.h>
#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Exception.h>
#include <SQLiteCpp/Statement.h>
#include <SQLiteCpp/Transaction.h>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <sqlite3.h>
#include <string>

#include "storage/owner_lock.h"

namespace palimpsest::storage {

// Valid until the statement is stepped again.
inline std::span<const std::byte> blob(const SQLite::Column& column)
{
    return {static_cast<const std::byte*>(column.getBlob()), static_cast<size_t>(column.getBytes())};
}

inline constexpr std::chrono::milliseconds patience{5000}; // with another process (P15)

// Also where SQLite says it otherwise: a quota, the index of its log, a file that cannot be made. `handle` may be
// null.
bool disk_is_full(const SQLite::Exception& failure, sqlite3* handle);

// Of the check after an unclean stop.
struct CheckLimit {
    std::function<bool()> go_on{};        // asked at every page; none: it goes on
    std::chrono::milliseconds time{1500}; // a session is resumed within 2 s (P2)
};

class Database {
public:
    enum class Access { Write, Read };
    enum class Place { Local, Network }; // a log with a shared index works on one machine only (Q14)

    // Write: creates folder (0700) and file (0600) where they are missing, becomes the owner, migrates. Read: works
    // beside an owner. An older version is copied to `backups` before it is migrated. Throws Error: Busy
    // (PAL-DB-07), NotFound (Read and no file), Failed (PAL-DB-01 not to be opened, 02 not ours, 03 damaged, 05
    // newer than this program and to be written).
    // `place`: as statfs has it, if not given. A check that `limit` ends is no error: see check_is_unfinished.
    Database(const std::filesystem::path& file, Access access, std::optional<Place> place = std::nullopt,
             const CheckLimit& limit = {});
    Database(); // in memory: leaves nothing behind
    ~Database();
    Database(const Database&) = delete;
    Database& operator=(const Database&) = delete;

    const std::filesystem::path& file() const { return file_; }
    bool in_memory() const { return file_ == ":memory:"; }
    Place place() const { return place_; }
    // What this connection has written to the disk: content goes into the log, and from there into the file.
    uint64_t bytes_written() const { return 2 * content_written_; }
    void count_written(uint64_t content) { content_written_ += content; }
    // After an unclean stop: the pages were not all looked at, and the next owner looks at them again.
    bool check_is_unfinished() const { return check_is_unfinished_; }

    SQLite::Statement statement(const char* sql) { return {*sql_, sql}; }
    int64_t last_row() const { return sql_->getLastInsertRowid(); }
    SQLite::Database& sql() { return *sql_; }

    uint64_t file_bytes() const;
    void remove_unnamed_blocks(); // of states that are gone; within a transaction
    void shrink(); // gives free pages back to the system and empties the log, unless readers stay in it

    // Runs `work` with SQLite's exceptions turned into Errors that name the file: Resources (PAL-DISK-01) where the
    // disk is full, and a later try may succeed; Resources (PAL-DISK-02) where reading or writing failed: from then
    // on this connection refuses to write, and only a new one can tell what is on the disk (Q12).
    template<class Work>
    auto guarded(Work&& work)
    try {
        return work();
    } catch (const SQLite::Exception& failure) {
        fail(failure);
    }

    // `work` in one transaction: all of it is on stable storage when this returns, or nothing of it happened.
    template<class Work>
    void transaction(Work&& work)
    {
        guarded([&] {
            refuse_if_suspect();
            SQLite::Transaction all(*sql_, SQLite::TransactionBehavior::IMMEDIATE);
            work();
            all.commit();
        });
    }

    // `work` in the transaction that is under way, or in one of its own.
    template<class Work>
    void in_transaction(Work&& work)
    {
        sqlite3_get_autocommit(sql_->getHandle()) ? transaction(work) : guarded(work);
    }

private:
    void open(Access access, const CheckLimit& limit);
    void check_after_unclean_stop(const CheckLimit& limit);
    void set_up_writer();
    [[noreturn]] void fail(const SQLite::Exception& failure);
    void checkpoint_when_long(int log_pages);
    void suspect();
    void refuse_if_suspect() const;

    std::filesystem::path file_;
    std::unique_ptr<OwnerLock> lock_; // outlives the connection
    std::unique_ptr<SQLite::Database> sql_;
    uint64_t content_written_ = 0;
    Place place_ = Place::Local;
    bool suspect_ = false;
    bool check_is_unfinished_ = false;
};

// All pages, indexes and references of `file`, beside an owner too; if nothing is wrong, the next owner of one that
// was left behind by its last need not check it again. False: `go_on`, asked at every page, said no. Throws Error
// as opening to read does, and Failed (PAL-DB-03 damaged).
bool check_whole(const std::filesystem::path& file, const std::function<bool()>& go_on = {});

} // namespace palimpsest::storage
