// What the tests of the store on failing disks share.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>
#include <unistd.h>

#include "tests/support/fault_vfs.h"

namespace palimpsest::tests {

// What the store may say when its disk fails.
inline const std::set<std::string>& documented()
{
    static const std::set<std::string> codes{"PAL-DISK-01", "PAL-DISK-02", "PAL-DISK-03", "PAL-DB-01",
                                             "PAL-DB-02",   "PAL-DB-03",   "PAL-SNAP-03", "PAL-DOC-05"};
    return codes;
}

// Between two calls that are made to fail: every 7th, or every one with PALIMPSEST_TEST_LEVEL=full.
inline uint64_t stride()
{
    const char* level = std::getenv("PALIMPSEST_TEST_LEVEL");
    return level && std::string(level) == "full" ? 1 : 7;
}

// FaultVfs passes no flush on, so a file system in memory will do.
inline std::filesystem::path quick_folder()
{
    return access("/dev/shm", W_OK) == 0 ? "/dev/shm" : std::filesystem::temp_directory_path();
}

} // namespace palimpsest::tests
