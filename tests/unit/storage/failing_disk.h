// Shared by the tests of the store on failing disks.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>
#include <unistd.h>
#include <vector>

#include "tests/support/fault_vfs.h"
#include "tests/support/sweep_part.h"
#include "tests/support/test_level.h"

namespace palimpsest::tests {

// The error codes that the store may report when its disk fails.
inline const std::set<std::string>& documented()
{
    static const std::set<std::string> codes{"PAL-DISK-01", "PAL-DISK-02", "PAL-DISK-03", "PAL-DB-01",
                                             "PAL-DB-02",   "PAL-DB-03",   "PAL-SNAP-03", "PAL-DOC-05"};
    return codes;
}

// Every stride()-th call is made to fail: every 7th, every 61st at the CI level, or every one before a release.
inline uint64_t stride()
{
    return at_full_level() ? 1 : at_ci_level() ? 61 : 7;
}

// The calls, from 1, that are made to fail of so many, in this process's part of them.
inline std::vector<uint64_t> failing_calls(uint64_t calls)
{
    std::vector<uint64_t> all;
    const SweepPart part = sweep_part();
    size_t position = 0;
    for (uint64_t nth = 1; nth <= calls; nth += stride())
        if (part.has(position++)) all.push_back(nth);
    return all;
}

// Returns a folder in memory if there is one. FaultVfs ignores flushes, so the files need not be durable.
inline std::filesystem::path quick_folder()
{
    return access("/dev/shm", W_OK) == 0 ? "/dev/shm" : std::filesystem::temp_directory_path();
}

} // namespace palimpsest::tests
