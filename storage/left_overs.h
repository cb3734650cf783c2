// Files that a killed rescue or restore has left beside the database. They hold texts of its sessions.
#pragma once

#include <filesystem>
#include <vector>

#include "storage/backup_files.h"

namespace palimpsest::storage {

// Where a copy of a backup is made before it takes the name of `database`.
std::filesystem::path restored_part(const std::filesystem::path& database);

// The files and folders, by path, with their sizes. While another process owns the database, they may be in use.
std::vector<UnusedFile> left_overs(const std::filesystem::path& database);
// Whether `file`, an absolute path, is one of them, or in one of the folders.
bool is_left_over(const std::filesystem::path& database, const std::filesystem::path& file);
// Removes them; files of others that are in such a folder stay, with the folder. Ignores failures: the next owner
// tries again. REQUIRES: the caller owns the database, so no running process has made them.
void remove_left_overs(const std::filesystem::path& database);

} // namespace palimpsest::storage
