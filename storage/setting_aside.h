// Another database takes the name of one that is kept under a name of its own.
#pragma once

#include <filesystem>

namespace palimpsest::storage {

// Gives `made`, which is complete and on stable storage, the name of `database`. What had the name before, damaged
// or not, is kept byte for byte with its write-ahead log or journal; returns where, or an empty path if there was
// nothing. At every moment a database has the name: the one before, or `made`. REQUIRES: the caller holds the
// OwnerLock, and `made` has no log. Throws Error (Failed, PAL-DISK-03), and removes `made`.
std::filesystem::path replace_database(const std::filesystem::path& database, const std::filesystem::path& made);

// Whether the program was killed between setting aside and replacing, so that the database may lack its log.
bool is_set_aside(const std::filesystem::path& database);

// Gives the database its log back if the program was killed between setting aside and replacing: without it, the
// database would be an older one. Without effect otherwise; if the database has got another log, both stay. Finds
// that out by the hard link, so it cannot help on a file system without those. REQUIRES: the caller holds the
// OwnerLock. Throws Error (Failed, PAL-DISK-03).
void undo_setting_aside(const std::filesystem::path& database);

} // namespace palimpsest::storage
