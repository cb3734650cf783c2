// One process at a time may write a database (reliability.md, Q5). The lock is the system's, held on a file of its
// own beside the database, and ends with the process however that ends; the file's text only says who holds it.
#pragma once

#include <chrono>
#include <filesystem>

namespace palimpsest::storage {

class OwnerLock {
public:
    // Waits `patience` for another owner to finish. Throws Error (Busy, PAL-DB-07) that names its process.
    OwnerLock(const std::filesystem::path& file, std::chrono::milliseconds patience);
    ~OwnerLock();
    OwnerLock(const OwnerLock&) = delete;
    OwnerLock& operator=(const OwnerLock&) = delete;

private:
    int descriptor_ = -1;
};

} // namespace palimpsest::storage
