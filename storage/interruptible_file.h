// Lets what a connection does be stopped between steps.
#pragma once

#include <SQLiteCpp/Database.h>
#include <functional>
#include <sqlite3.h>

namespace palimpsest::storage {

// Makes SQLite ask `go_on` again and again while this lives; once it returns false, statements end with
// SQLITE_INTERRUPT. SQLite's progress handler is not enough: it is called between steps only, and SQLite scans a
// whole table, or copies a whole log into the file, in one step. So reads and writes of the file are intercepted,
// too. One at a time for a connection. The arguments must outlive this.
class InterruptibleFile {
public:
    InterruptibleFile(SQLite::Database& db, const std::function<bool()>& go_on);
    ~InterruptibleFile();
    InterruptibleFile(const InterruptibleFile&) = delete;
    InterruptibleFile& operator=(const InterruptibleFile&) = delete;

    // After a stop, reads fail, so results that were computed from them may be wrong.
    bool was_stopped() const { return stopped_; }

private:
    struct Methods : sqlite3_io_methods {
        InterruptibleFile* questioned = nullptr;
    };

    static InterruptibleFile& of(sqlite3_file* file);
    static int read(sqlite3_file* file, void* to, int count, sqlite3_int64 at);
    static int write(sqlite3_file* file, const void* from, int count, sqlite3_int64 at);
    bool goes_on();

    const std::function<bool()>& go_on_;
    sqlite3* db_;
    sqlite3_file* file_ = nullptr;
    const sqlite3_io_methods* usual_ = nullptr;
    Methods methods_{};
    bool stopped_ = false;
};

} // namespace palimpsest::storage
