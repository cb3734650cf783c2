// The files in the folder `backups` beside the database: how they are named, listed and chosen for restoring.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "kernels/base/text.h"

namespace palimpsest::storage {

std::filesystem::path backup_folder(const std::filesystem::path& database);
// Path of the copy that is made before the database is migrated to schema `version`.
std::filesystem::path before_schema(const std::filesystem::path& database, int version);
// Path of the copy of a day; `kind`: "daily" or "weekly".
std::filesystem::path dated_backup(const std::filesystem::path& database, const char* kind,
                                   std::chrono::sys_days day);

// A name beside the database, such as "palimpsest-aside-2026-11-27.db".
std::filesystem::path dated_file(const std::filesystem::path& database, const char* kind,
                                 std::chrono::sys_days day);

std::vector<std::filesystem::path> backups_of(const std::filesystem::path& database); // newest last
// The backups of one kind ("daily", "before-schema", …), sorted by name, which ends with a date or a number.
std::vector<std::filesystem::path> backups_of(const std::filesystem::path& database, const char* kind);
// Databases that a restore or rescue set aside, and backups that a killed program did not finish.
struct UnusedFile {
    std::filesystem::path path;
    uint64_t bytes;
};
std::vector<UnusedFile> unused_files(const std::filesystem::path& database); // by path
// Removes what a program that was killed while it made a backup has left. REQUIRES: the caller owns the database.
void remove_unfinished_backups(const std::filesystem::path& database);
// Called on permanent deletion, because backups, finished or not, contain the deleted content.
void remove_backups(const std::filesystem::path& database);
// The remedy of the Error about a damaged database.
Text restoring_advice(const std::filesystem::path& database);

} // namespace palimpsest::storage
