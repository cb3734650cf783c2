// The tables of the database, version by version (reliability.md, Q1, Q7).
#pragma once

#include <SQLiteCpp/Database.h>

namespace palimpsest::storage {

inline constexpr int application_id = 0x50414C31; // "PAL1"
inline constexpr int schema_version = 2;

// 0: an empty file. Throws Error (Failed, PAL-DB-02) for a file of another program.
int version_of(SQLite::Database& db);
// From the version that is there to the newest, in one transaction that also checks the whole of an older one.
// Throws Error (Failed, PAL-DB-02, or PAL-DB-03 for one that is damaged); nothing is changed then.
void migrate(SQLite::Database& db);
// Tables, columns and indexes are exactly those of `version`. Throws Error (Failed, PAL-DB-02).
void check_schema(SQLite::Database& db, int version);
// Lets a connection that only reads an older version select from it as from the newest. Writes nothing.
void read_as_newest(SQLite::Database& db, int version);

} // namespace palimpsest::storage
