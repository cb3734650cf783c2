// A file that shrinks while it is mapped raises SIGBUS at the next read. Inside guarded ranges the handler maps
// zeros in place of the lost page and marks the range, so the reader can report an error instead of crashing
// (rule G16 of docs/validation.md).
#pragma once

#include <cstddef>

namespace palimpsest::engine {

// Guards [begin, begin + bytes) during its lifetime. The first guard installs a process-wide handler; faults
// outside guarded ranges go to the previous handler. Throws Error (Resources) if 4,096 ranges are already guarded.
class BusGuard {
public:
    BusGuard(const void* begin, size_t bytes);
    ~BusGuard();
    BusGuard(const BusGuard&) = delete;
    BusGuard& operator=(const BusGuard&) = delete;

    // Whether any page of the range has been replaced by zeros. Callable from any thread.
    bool faulted() const;

private:
    size_t slot_;
};

} // namespace palimpsest::engine
