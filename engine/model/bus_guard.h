// A file that shrinks while it is mapped raises SIGBUS at the next read. Inside guarded ranges the page becomes
// zeros and the range is marked, so that whoever reads can stop with a sentence (rule G16) instead of dying.
#pragma once

#include <cstddef>

namespace palimpsest::engine {

// Guards [begin, begin + bytes) while it lives. The first one installs a process-wide handler; faults elsewhere go
// to the handler that was there before. Throws Error (Resources) when 4,096 ranges are guarded already.
class BusGuard {
public:
    BusGuard(const void* begin, size_t bytes);
    ~BusGuard();
    BusGuard(const BusGuard&) = delete;
    BusGuard& operator=(const BusGuard&) = delete;

    // Whether a page of the range has been replaced by zeros. Any thread.
    bool faulted() const;

private:
    size_t slot_;
};

} // namespace palimpsest::engine
