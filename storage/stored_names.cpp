#include "storage/stored_names.h"

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Exception.h>
#include <SQLiteCpp/Statement.h>
#include <sqlite3.h>

namespace palimpsest::storage {
namespace {

// `select` returns names and meanings.
std::vector<StoredName> names_in(const std::filesystem::path& file, const char* select)
{
    std::vector<StoredName> names;
    try {
        SQLite::Database database(std::filesystem::absolute(file).string(),
                                  SQLite::OPEN_READONLY | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_EXRESCODE);
        database.exec("PRAGMA trusted_schema = OFF; PRAGMA mmap_size = 0");
        SQLite::Statement query(database, select);
        while (query.executeStep())
            names.push_back({query.getColumn(0).getString(), query.getColumn(1).getString()});
    } catch (const SQLite::Exception&) { // missing, locked, damaged, or of another program
        names.clear();
    }
    return names;
}

} // namespace

std::vector<StoredName> session_names(const std::filesystem::path& file)
{
    return names_in(file, "SELECT name, model_name FROM sessions ORDER BY changed_ms DESC, id DESC LIMIT 1000");
}

std::vector<StoredName> document_names(const std::filesystem::path& file)
{
    return names_in(file,
                    "SELECT iif(sharing = 1, title, id), iif(sharing = 1, author, title) FROM "
                    "(SELECT id, title, coalesce(author, '') AS author, "
                    "count(*) OVER (PARTITION BY title) AS sharing "
                    "FROM documents LEFT JOIN metadata ON metadata.document = documents.id WHERE complete = 1) "
                    "ORDER BY id DESC LIMIT 1000");
}

} // namespace palimpsest::storage
