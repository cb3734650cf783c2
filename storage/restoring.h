// Puts a backup in the place of the database, which is set aside and never deleted.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace palimpsest::storage {

struct Restored {
    std::filesystem::path backup, aside; // aside: where the database before is now; empty if there was none
    uint64_t sessions = 0;               // in the backup
};

struct Backup {
    std::filesystem::path file;
    int64_t written_ms = 0;
    uint64_t sessions = 0;
};
// The newest backup of `database` that can be read; nullopt if there is none. Checks the pages of backups, from the
// newest on.
std::optional<Backup> newest_backup(const std::filesystem::path& database);

// At every moment a complete database has the name: the one before, or the restored one. The one before may be
// damaged. Throws Error: Busy (PAL-DB-07) while a program has it open, NotFound (PAL-DB-00) without the backup,
// Failed (PAL-DB-02, 03, 05, PAL-DISK-03) or Resources (PAL-DISK-01, 02) if the backup cannot be read or copied;
// then nothing has changed.
Restored restore(const std::filesystem::path& database, const std::filesystem::path& backup);

} // namespace palimpsest::storage
