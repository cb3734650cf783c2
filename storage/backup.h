// Copies of the database in the folder `backups` beside it. A copy gets its final name only after it is complete,
// synced to stable storage and checked.
#pragma once

#include <SQLiteCpp/Database.h>
#include <chrono>
#include <filesystem>

namespace palimpsest::storage {

// Returns once a file, or the names in a folder, are on stable storage. Throws Error (PAL-DISK-02, PAL-DISK-03).
void sync_to_disk(const std::filesystem::path& path);

// Replaces `to` with a copy of `db`. REQUIRES: no open transaction. Creates the folder if missing (0700; the file
// 0600). On failure `to` is unchanged. Throws Error, after which `db` is still usable: Failed (PAL-DISK-03) if the
// folder cannot be created or written; Resources (PAL-DISK-01) if there is no space, or (PAL-DISK-02) if reading or
// writing failed or the copy differs. Throws SQLite::Exception for errors of `db` itself.
void back_up(SQLite::Database& db, const std::filesystem::path& to);

// Writes the backup of the day: text, sessions and settings, without snapshots. Does nothing if the database is
// empty or today's backup exists. Keeps three daily backups and one weekly one, and removes unfinished ones.
// REQUIRES: the caller owns the database. Throws like back_up, and Error (Resources, PAL-DISK-01) if there is too
// little space to start.
void back_up_daily(SQLite::Database& db, const std::filesystem::path& database, std::chrono::sys_days today);

} // namespace palimpsest::storage
