#include "storage/interruptible_file.h"

#include <utility>

namespace palimpsest::storage {
namespace {

constexpr int steps_between_questions = 1000; // steps of SQLite's virtual machine

} // namespace

InterruptibleFile::InterruptibleFile(SQLite::Database& db, const std::function<bool()>& go_on)
    : go_on_(go_on), db_(db.getHandle())
{
    sqlite3_progress_handler(
        db_, steps_between_questions,
        [](void* self) { return static_cast<InterruptibleFile*>(self)->goes_on() ? 0 : 1; }, this);
    if (sqlite3_file_control(db_, "main", SQLITE_FCNTL_FILE_POINTER, &file_) != SQLITE_OK || !file_ ||
        !file_->pMethods) {
        file_ = nullptr; // in memory
        return;
    }
    static_cast<sqlite3_io_methods&>(methods_) = *file_->pMethods;
    methods_.questioned = this;
    methods_.xRead = read;
    methods_.xWrite = write;
    usual_ = std::exchange(file_->pMethods, &methods_);
}

InterruptibleFile::~InterruptibleFile()
{
    if (file_) file_->pMethods = usual_;
    sqlite3_progress_handler(db_, 0, nullptr, nullptr);
}

InterruptibleFile& InterruptibleFile::of(sqlite3_file* file)
{
    return *static_cast<const Methods*>(file->pMethods)->questioned;
}

int InterruptibleFile::read(sqlite3_file* file, void* to, int count, sqlite3_int64 at)
{
    InterruptibleFile& self = of(file);
    return self.goes_on() ? self.usual_->xRead(file, to, count, at) : SQLITE_INTERRUPT;
}

int InterruptibleFile::write(sqlite3_file* file, const void* from, int count, sqlite3_int64 at)
{
    InterruptibleFile& self = of(file);
    return self.goes_on() ? self.usual_->xWrite(file, from, count, at) : SQLITE_INTERRUPT;
}

bool InterruptibleFile::goes_on()
{
    if (!stopped_ && go_on_) stopped_ = !go_on_();
    return !stopped_;
}

} // namespace palimpsest::storage
