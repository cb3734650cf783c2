// Copies of the database in the folder `backups` beside it. A copy gets its final name only after it is complete,
// synced to stable storage and checked.
#pragma once

#include <SQLiteCpp/Database.h>
#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

namespace palimpsest::storage {

std::filesystem::path backup_folder(const std::filesystem::path& database);
// Path of the copy that is made before the database is migrated to schema `version`.
std::filesystem::path before_schema(const std::filesystem::path& database, int version);

// Replaces `to` with a copy of `db`. REQUIRES: no open transaction. Creates the folder if missing (0700; the file
// 0600). Throws Error (Failed, PAL-DISK-03 folder cannot be created or written; Resources, PAL-DISK-01 no space, 02
// read or write failed or the copy differs), after which `db` is still usable, or SQLite::Exception for errors of
// `db` itself. On failure `to` is unchanged.
void back_up(SQLite::Database& db, const std::filesystem::path& to);

// Writes the backup of the day: text, sessions and settings, without snapshots. Does nothing if the database is
// empty or today's backup exists. Keeps three daily backups and one weekly one. Throws like back_up, and Error
// (Resources, PAL-DISK-01) if there is too little space to start.
void back_up_daily(SQLite::Database& db, const std::filesystem::path& database, std::chrono::sys_days today);

std::vector<std::filesystem::path> backups_of(const std::filesystem::path& database); // newest last
// Called on permanent deletion, because backups contain the deleted content.
void remove_backups(const std::filesystem::path& database);
// Remedy text for the Error about a damaged database.
std::string restoring_advice(const std::filesystem::path& database);

} // namespace palimpsest::storage
