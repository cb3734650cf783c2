// Rescues what can be read of a damaged database, which is set aside and never altered.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <vector>

#include "storage/loss.h"

namespace palimpsest::storage {

struct Rescued {
    std::filesystem::path aside; // where the damaged database is now; empty if it still has its name
    uint64_t sessions = 0, documents = 0, messages = 0; // that were rescued, those with losses included
    std::vector<Loss> losses;
};

enum class RescueMode { Replace, TryOnly };

// Makes a new database of the sessions, documents, messages, pins and settings of `database` that can be read and
// match their checksums. Replace: it takes the name, and at every moment a database has the name. TryOnly: it is
// removed, and only what would be lost is told. Passages are indexed again later. Needs twice the size of the
// database for a while. `go_on` is called at every row and piece, until the database is replaced; Interrupted is
// thrown if it returns false. Throws Error: Busy (PAL-DB-07) while a program has it open, NotFound (PAL-DB-00)
// without it, Failed (PAL-DB-01) if it is a link or others can write it, (PAL-DB-02) if it is not a Palimpsest
// database and has no backups, (PAL-DB-05) for one of a newer version, or (PAL-DISK-03), Resources (PAL-DISK-01,
// 02); then nothing has changed.
Rescued rescue(const std::filesystem::path& database, RescueMode mode, const std::function<bool()>& go_on = {});

} // namespace palimpsest::storage
