// The database tables of every schema version.
#pragma once

#include <SQLiteCpp/Database.h>
#include <optional>

namespace palimpsest::storage {

inline constexpr int application_id = 0x50414C31; // "PAL1"
inline constexpr int schema_version = 8;

// Returns 0 for an empty file. Throws Error (Failed, PAL-DB-02) if the file belongs to another program, or
// (PAL-DB-03) if it has our tables and the numbers of another program.
int version_of(SQLite::Database& db);
// Migrates to the newest version in one transaction, which also checks the whole content of an older database.
// Throws Error (Failed, PAL-DB-02, or PAL-DB-03 if damaged) and then changes nothing.
void migrate(SQLite::Database& db);
// Checks that tables, columns and indexes are exactly those of `version`. Throws Error (Failed, PAL-DB-02; or
// PAL-DB-03 if they are those with other bytes in their place, or those of another version).
void check_schema(SQLite::Database& db, int version);
// The newest version that has exactly these tables, columns and indexes, whatever number the file has.
std::optional<int> find_known_version(SQLite::Database& db);
// Removes all passages, and replaces their index, which is damaged, by an empty one: documents will be indexed
// again. Within a transaction.
void discard_passages(SQLite::Database& db);
// Creates temporary views so that a read-only connection can query an older version like the newest. Writes
// nothing.
void add_compatibility_views(SQLite::Database& db, int version);

} // namespace palimpsest::storage
