#include "storage/session_names.h"

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Exception.h>
#include <SQLiteCpp/Statement.h>
#include <sqlite3.h>

namespace palimpsest::storage {

std::vector<SessionName> session_names(const std::filesystem::path& file)
{
    std::vector<SessionName> names;
    try {
        SQLite::Database database(std::filesystem::absolute(file).string(),
                                  SQLite::OPEN_READONLY | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_EXRESCODE);
        database.exec("PRAGMA trusted_schema = OFF; PRAGMA mmap_size = 0");
        SQLite::Statement query(
            database, "SELECT name, model_name FROM sessions ORDER BY changed_ms DESC, id DESC LIMIT 1000");
        while (query.executeStep())
            names.push_back({query.getColumn(0).getString(), query.getColumn(1).getString()});
    } catch (const SQLite::Exception&) { // missing, locked, damaged, or of another program
        names.clear();
    }
    return names;
}

} // namespace palimpsest::storage
