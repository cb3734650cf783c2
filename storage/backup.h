// Copies of the database in the folder `backups` beside it. A copy has its name only once it is whole, on stable
// storage and checked (reliability.md, Q11).
#pragma once

#include <SQLiteCpp/Database.h>
#include <filesystem>

namespace palimpsest::storage {

std::filesystem::path backup_folder(const std::filesystem::path& database);
// Where the copy lies that was made before the database was brought to schema `version`.
std::filesystem::path before_schema(const std::filesystem::path& database, int version);

// Copies what `db` holds now, outside of a transaction, in place of what `to` held. The folder is made where it is
// missing (0700; the file 0600). Throws SQLite::Exception, or Error (Failed, PAL-DISK-03 the folder cannot be made
// or written; Resources, PAL-DISK-02 the copy is not what was copied); `to` is as it was then.
void back_up(SQLite::Database& db, const std::filesystem::path& to);

} // namespace palimpsest::storage
