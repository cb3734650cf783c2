#include "storage/erasure.h"

#include "storage/backup.h"
#include "storage/backup_files.h"
#include "storage/clock.h"
#include "storage/left_overs.h"
#include "storage/settings.h"

namespace palimpsest::storage {
namespace {

std::optional<Error> back_up_now(Database& db)
try {
    if (!db.in_memory()) db.guarded([&] { back_up_daily(db.sql(), db.file(), today()); });
    return std::nullopt;
} catch (const Error& error) {
    return error;
}

constexpr const char* erasure_mark = "erasing";

void erase_traces(Database& database)
{
    if (!database.in_memory()) {
        remove_backups(database.file());
        remove_left_overs(database.file());
    }
    database.shrink();
    Settings(database).remove(erasure_mark);
}

} // namespace

std::optional<Error> erase(Database& database, const std::function<void()>& remove)
{
    database.guarded([&] { database.sql().exec("PRAGMA secure_delete = ON"); });
    database.transaction([&] {
        remove();
        mark_erasure(database);
    });
    database.guarded([&] { database.sql().exec("PRAGMA secure_delete = FAST"); });
    erase_traces(database);
    return back_up_now(database);
}

void mark_erasure(Database& database)
{
    Settings(database).set(erasure_mark, "");
}

void finish_erasure(Database& database)
{
    if (Settings(database).get(erasure_mark)) erase_traces(database);
}

} // namespace palimpsest::storage
