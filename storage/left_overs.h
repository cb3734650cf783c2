// Files that a killed rescue or restore has left beside the database. They hold texts of its sessions. A running
// one owns the database (OwnerLock), so only another owner can tell left-overs from its files.
#pragma once

#include <filesystem>
#include <vector>

#include "storage/backup_files.h"

namespace palimpsest::storage {

// Where a copy of a backup is made before it takes the name of `database`.
std::filesystem::path restored_part(const std::filesystem::path& database);

// The files and folders, by path, with their sizes. A folder with anything in it that a rescue does not make is not
// one of them. REQUIRES: the caller owns the database.
std::vector<UnusedFile> left_overs(const std::filesystem::path& database);
// Whether `file`, an absolute path, is one of them, or in one of the folders. REQUIRES: the caller owns the
// database.
bool is_left_over(const std::filesystem::path& database, const std::filesystem::path& file);
// Removes them and returns which. Ignores failures: the next owner tries again. REQUIRES: the caller owns the
// database, so no running process has made them, and it is a Palimpsest database.
std::vector<UnusedFile> remove_left_overs(const std::filesystem::path& database);

} // namespace palimpsest::storage
