// Rescues what can be read of a damaged database, which is set aside and never altered.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <vector>

#include "kernels/base/text.h"
#include "storage/loss.h"

namespace palimpsest::storage {

struct Rescued {
    std::filesystem::path aside;  // where the damaged database is now; empty if it still has its name
    std::filesystem::path report; // beside it: what is lost, in words; empty if nothing is lost or replaced
    bool is_damaged = true;       // false: every page and reference is as it should be, and nothing is lost
    uint64_t sessions = 0, documents = 0, messages = 0; // that were rescued, those with losses included
    std::vector<Loss> losses;
};

enum class RescueMode {
    Replace,        // the new database takes the name; whether the old one is damaged is not asked
    ReplaceDamaged, // likewise, if the old one is damaged
    TryOnly,        // only what would be lost is told
};

// Makes a new database of the sessions, documents, messages, pins and settings of `database` that can be read and
// match their checksums. If it takes the name, a database has the name at every moment; if not, it is removed.
// Passages are indexed again later. Needs twice the size of the database for a while. `go_on` is called at every
// row and piece with the percentage that is done, until the database is replaced; Interrupted is thrown if it
// returns false. `wording`: of the report, English without it. Throws Error: Busy (PAL-DB-07) while a program has
// it open, NotFound (PAL-DB-00) without it, Failed (PAL-DB-01) if it is a link or others can write it, (PAL-DB-02)
// if it is not a Palimpsest database and has no backups, (PAL-DB-05) for one of a newer version, or (PAL-DISK-03),
// Resources (PAL-DISK-01, 02); then nothing has changed.
Rescued rescue(const std::filesystem::path& database, RescueMode mode, const std::function<bool(int)>& go_on = {},
               const Wording* wording = nullptr);

} // namespace palimpsest::storage
