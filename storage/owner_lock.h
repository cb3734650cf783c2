// Allows one process at a time to write a database. Uses flock on a separate file beside the database, so the lock
// ends with the process in every case. The file's text only tells who holds the lock, and whether the last owner
// released it cleanly.
#pragma once

#include <chrono>
#include <filesystem>

namespace palimpsest::storage {

class OwnerLock {
public:
    // Waits up to `busy_timeout` while another process is the owner, then throws Error (Busy, PAL-DB-07) that names
    // it.
    OwnerLock(const std::filesystem::path& file, std::chrono::milliseconds busy_timeout);
    ~OwnerLock();
    OwnerLock(const OwnerLock&) = delete;
    OwnerLock& operator=(const OwnerLock&) = delete;

    // Whether the last owner was killed, or its machine stopped.
    bool ended_uncleanly() const { return left_behind_; }
    // Marks a clean shutdown: everything is written, and the next owner has nothing to check.
    void mark_clean_shutdown();

private:
    int descriptor_ = -1;
    bool left_behind_ = false;
};

} // namespace palimpsest::storage
