// The user's SQLite file: opening, ownership, and the settings of every connection.
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

inline constexpr std::chrono::milliseconds busy_timeout{5000}; // how long to wait for another process

// Throws Error (Failed, PAL-DB-01) if the file exists and is not a regular file, belongs to another user, or can be
// written by others.
void check_owner(const std::filesystem::path& file);

// Limits the page check after an unclean shutdown.
struct CheckLimit {
    std::function<bool()> go_on{};        // called at every page; stops the check if false
    std::chrono::milliseconds time{1500}; // leaves room to resume a session within 2 s
};

class Database {
public:
    enum class Access { Write, Read, Immutable };
    enum class Place { Local, Network }; // WAL needs shared memory, which works on one machine only

    // Write: creates folder (0700) and file (0600) if missing, becomes the owner (OwnerLock), and migrates an older
    // version after copying it to `backups`. Read: works beside an owner. Immutable: as Read, for a file that
    // nothing writes, perhaps on a read-only medium: takes no lock, uses no journal beside it and creates no file.
    // Throws Error: Busy (PAL-DB-07), NotFound (no file, unless Write), Failed (PAL-DB-01 cannot be opened, 02 not
    // a Palimpsest database, 03 damaged, 05 written by a newer version and opened for Write). `place`: taken from
    // statfs if not given. Stopping the check through `limit` is no error: see check_is_unfinished.
    Database(const std::filesystem::path& file, Access access, std::optional<Place> place = std::nullopt,
             const CheckLimit& limit = {});
    Database(); // in memory
    ~Database();
    Database(const Database&) = delete;
    Database& operator=(const Database&) = delete;

    const std::filesystem::path& file() const { return file_; }
    bool in_memory() const { return file_ == ":memory:"; }
    Place place() const { return place_; }
    // Bytes that this connection wrote to disk: content is written twice, to the write-ahead log and to the file.
    uint64_t bytes_written() const { return 2 * content_written_; }
    void count_written(uint64_t content) { content_written_ += content; }
    // The check after an unclean shutdown was stopped early, so the next program that opens it repeats the check.
    bool check_is_unfinished() const { return check_is_unfinished_; }

    SQLite::Statement statement(const char* sql) { return {*sql_, sql}; }
    int64_t last_row() const { return sql_->getLastInsertRowid(); }
    SQLite::Database& sql() { return *sql_; }

    uint64_t file_bytes() const;
    void remove_unreferenced_blocks(); // deletes blocks that no snapshot uses; within a transaction
    // Returns free pages to the system, a few at a time, and truncates the log unless readers use it. `returned` is
    // called with the percentage that is done, and may throw to stop.
    void shrink(const std::function<void(int)>& returned = {});

    // Runs `work` and turns SQLite's exceptions into Errors that name the file: Resources (PAL-DISK-01) if the disk
    // is full; a retry may succeed. Resources (PAL-DISK-02) if a read or write failed: this connection then refuses
    // to write, because only a new one can tell what is on disk.
    template<class Work>
    auto guarded(Work&& work)
    try {
        return work();
    } catch (const SQLite::Exception& failure) {
        fail(failure);
    }

    // Runs `work` in one transaction: either all of it is on stable storage on return, or none of it happened.
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

    // Runs `work` in the current transaction, or in its own if there is none.
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
    std::unique_ptr<OwnerLock> lock_; // destroyed after the connection
    std::unique_ptr<SQLite::Database> sql_;
    uint64_t content_written_ = 0;
    Place place_ = Place::Local;
    bool suspect_ = false;
    bool found_damage_ = false; // the next owner checks the pages, as after an unclean shutdown
    bool check_is_unfinished_ = false;
};

// Checks all pages, indexes and references of `file`, also beside an owner. If nothing is wrong and the last owner
// did not shut down cleanly, the next owner need not check again. Returns false if `go_on`, called at every page,
// stopped the check. Throws Error like opening for Read, and Failed (PAL-DB-03, damaged).
bool check_integrity(const std::filesystem::path& file, const std::function<bool()>& go_on = {});

} // namespace palimpsest::storage
