#include "storage/erasure.h"

#include "storage/backup.h"
#include "storage/backup_files.h"
#include "storage/clock.h"

namespace palimpsest::storage {
namespace {

std::optional<Error> back_up_now(Database& db)
try {
    if (!db.in_memory()) db.guarded([&] { back_up_daily(db.sql(), db.file(), today()); });
    return std::nullopt;
} catch (const Error& error) {
    return error;
}

} // namespace

std::optional<Error> erase(Database& database, const std::function<void()>& remove)
{
    database.guarded([&] { database.sql().exec("PRAGMA secure_delete = ON"); });
    database.transaction(remove);
    database.guarded([&] { database.sql().exec("PRAGMA secure_delete = FAST"); });
    if (!database.in_memory()) remove_backups(database.file());
    database.shrink();
    return back_up_now(database);
}

} // namespace palimpsest::storage
