#include "storage/page_check.h"

#include <SQLiteCpp/Exception.h>
#include <sqlite3.h>
#include <utility>

namespace palimpsest::storage {
namespace {

constexpr int steps_between_questions = 1000; // steps of SQLite's virtual machine; every file read asks, too

// Makes SQLite ask go_on again and again. Its progress handler is not enough: SQLite 3.40 calls it between steps
// only, and scans a whole table in one step. So file reads of the connection are intercepted, too.
class InterruptibleReads {
public:
    InterruptibleReads(sqlite3* db, const std::function<bool()>& go_on) : go_on_(go_on), db_(db)
    {
        sqlite3_progress_handler(
            db_, steps_between_questions,
            [](void* self) { return static_cast<InterruptibleReads*>(self)->goes_on() ? 0 : 1; }, this);
        if (sqlite3_file_control(db_, "main", SQLITE_FCNTL_FILE_POINTER, &file_) != SQLITE_OK || !file_ ||
            !file_->pMethods) {
            file_ = nullptr; // in memory
            return;
        }
        static_cast<sqlite3_io_methods&>(methods_) = *file_->pMethods;
        methods_.questioned = this;
        methods_.xRead = read;
        usual_ = std::exchange(file_->pMethods, &methods_);
    }
    ~InterruptibleReads()
    {
        if (file_) file_->pMethods = usual_;
        sqlite3_progress_handler(db_, 0, nullptr, nullptr);
    }
    InterruptibleReads(const InterruptibleReads&) = delete;
    InterruptibleReads& operator=(const InterruptibleReads&) = delete;

    bool was_stopped() const { return stopped_; }

private:
    struct Methods : sqlite3_io_methods {
        InterruptibleReads* questioned = nullptr;
    };

    static int read(sqlite3_file* file, void* to, int count, sqlite3_int64 at)
    {
        InterruptibleReads& self = *static_cast<const Methods*>(file->pMethods)->questioned;
        return self.goes_on() ? self.usual_->xRead(file, to, count, at) : SQLITE_INTERRUPT;
    }

    bool goes_on()
    {
        if (!stopped_ && go_on_) stopped_ = !go_on_();
        return !stopped_;
    }

    const std::function<bool()>& go_on_;
    sqlite3* db_;
    sqlite3_file* file_ = nullptr;
    const sqlite3_io_methods* usual_ = nullptr;
    Methods methods_{};
    bool stopped_ = false;
};

} // namespace

std::optional<std::string> check_pages(SQLite::Database& db, PageCheck check, const std::function<bool()>& go_on)
{
    const InterruptibleReads questioned(db.getHandle(), go_on);
    try {
        const std::string found =
            db.execAndGet(check == PageCheck::Quick ? "PRAGMA quick_check(1)" : "PRAGMA integrity_check(1)")
                .getString();
        if (questioned.was_stopped()) return std::nullopt; // `found` may be an error because reads were interrupted
        return found == "ok" ? "" : found;
    } catch (const SQLite::Exception&) {
        if (questioned.was_stopped()) return std::nullopt;
        throw;
    }
}

} // namespace palimpsest::storage
