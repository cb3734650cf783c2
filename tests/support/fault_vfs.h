// A disk that fails on purpose: SQLite's file system with the n-th call of a kind failing, once or from then on.
#pragma once

#include <cstdint>
#include <functional>
#include <sqlite3.h>

namespace palimpsest::tests {

enum class Fault {
    None,
    Full,      // half of what is written arrives: SQLITE_FULL
    Write,     // half of what is written arrives: SQLITE_IOERR_WRITE
    Sync,      // SQLITE_IOERR_FSYNC
    Read,      // SQLITE_IOERR_READ
    ShortRead, // the system call gives half of what was asked for
    Truncate,  // SQLITE_IOERR_TRUNCATE
    Open,      // SQLITE_CANTOPEN
    Shm,       // mapping or locking of the shared index
    Other,     // deleting, looking for, measuring and locking a file
};
inline constexpr Fault every_fault[] = {Fault::Full, Fault::Write,    Fault::Sync, Fault::Read, Fault::ShortRead,
                                        Fault::Open, Fault::Truncate, Fault::Shm,  Fault::Other};
const char* name_of(Fault fault);

// SQLite's default file system while it lives; everything that is opened must be closed before it goes. Flushes are
// counted and not passed on: no process and no machine dies here.
class FaultVfs {
public:
    FaultVfs();
    ~FaultVfs();
    FaultVfs(const FaultVfs&) = delete;
    FaultVfs& operator=(const FaultVfs&) = delete;

    // The `nth` call (from 1) that `fault` concerns fails; 0 fails none and only counts.
    void arm(Fault fault, uint64_t nth, bool persistent);
    void heal() { arm(Fault::None, 0, false); }
    uint64_t calls() const { return calls_; }       // that the fault concerned, since it was armed
    uint64_t failures() const { return failures_; } // of them
    uint64_t changes() const { return changes_; } // writes, flushes, truncations and deletions that were asked for

    struct Methods; // what SQLite calls
private:
    bool fails(Fault fault); // counts a call that `fault` concerns
    void take_reads(bool take);

    sqlite3_vfs vfs_{};
    sqlite3_vfs* system_;
    Fault fault_ = Fault::None;
    uint64_t nth_ = 0, calls_ = 0, failures_ = 0, changes_ = 0;
    bool persistent_ = false;
};

} // namespace palimpsest::tests
