// Copies of the database in the folder `backups` beside it. A copy has its name only once it is whole, on stable
// storage and checked (reliability.md, Q11).
#pragma once

#include <SQLiteCpp/Database.h>
#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

namespace palimpsest::storage {

std::filesystem::path backup_folder(const std::filesystem::path& database);
// Where the copy lies that was made before the database was brought to schema `version`.
std::filesystem::path before_schema(const std::filesystem::path& database, int version);

// Copies what `db` holds now, outside of a transaction, in place of what `to` held. The folder is made where it is
// missing (0700; the file 0600). Throws Error (Failed, PAL-DISK-03 the folder cannot be made or written; Resources,
// PAL-DISK-01 no space, 02 reading or writing failed or the copy is not what was copied), all of which leave `db`
// to be used as before, or SQLite::Exception where `db` is at fault; `to` is as it was then.
void back_up(SQLite::Database& db, const std::filesystem::path& to);

// One a day, of text, sessions and settings without states, where there is anything to lose and none of `today` is
// there. Three of days are kept and one that is a week older. Throws as back_up does, and Error (Resources,
// PAL-DISK-01) where there is too little space to begin.
void back_up_daily(SQLite::Database& db, const std::filesystem::path& database, std::chrono::sys_days today);

std::vector<std::filesystem::path> backups_of(const std::filesystem::path& database); // the newest last
// They hold what is deleted for good (Q15).
void remove_backups(const std::filesystem::path& database);
// What to do about a database that is damaged, as the remedy of an Error.
std::string restoring_advice(const std::filesystem::path& database);

} // namespace palimpsest::storage
