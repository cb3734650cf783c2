// Another database takes the name of one that is kept under a name of its own.
#pragma once

#include <filesystem>
#include <string>

namespace palimpsest::storage {

// Where a database is that another one has taken the name of.
struct SetAside {
    std::filesystem::path database; // empty: there was none
    std::filesystem::path report;   // beside it; empty: nothing is reported
};

// Gives `made`, which is complete and on stable storage, the name of `database`. What had the name before, damaged
// or not, is kept byte for byte with its write-ahead log or journal, and with `report` (0600) beside it, unless
// that is empty. At every moment a database has the name: the one before, or `made`. REQUIRES: the caller holds the
// OwnerLock, and `made` has no log. Throws Error (Failed, PAL-DISK-03), and removes `made`.
SetAside replace_database(const std::filesystem::path& database, const std::filesystem::path& made,
                          const std::string& report = {});

// Whether the program was killed between setting aside and replacing, so that the database may lack its log.
bool is_set_aside(const std::filesystem::path& database);

// Gives the database its log back if the program was killed between setting aside and replacing: without it, the
// database would be an older one. Without effect otherwise; if the database has got another log, both stay. Finds
// that out by the hard link, or on a file system without those by a file that names the copy and tells the size,
// time and inode of the database; it then compares pieces of both, or all if the file is another one. REQUIRES: the
// caller holds the OwnerLock. Throws Error (Failed, PAL-DISK-03).
void undo_setting_aside(const std::filesystem::path& database);

} // namespace palimpsest::storage
