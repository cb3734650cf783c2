// One process at a time may write a database (reliability.md, Q5). The lock is the system's, held on a file of its
// own beside the database, and ends with the process however that ends; the file's text only says who holds it, and
// whether the last one let go of it in good order.
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

    // The last owner was killed, or its machine stopped.
    bool was_left_behind() const { return left_behind_; }
    // Everything that was to be written is: the next owner has nothing to check.
    void let_go_in_order();

private:
    int descriptor_ = -1;
    bool left_behind_ = false;
};

} // namespace palimpsest::storage
