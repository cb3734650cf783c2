// SQLite VFS with injected faults: the n-th call of a kind fails, once or from then on.
#pragma once

#include <cstdint>
#include <functional>
#include <sqlite3.h>

namespace palimpsest::tests {

enum class Fault {
    None,
    Full,      // half of the data is written: SQLITE_FULL
    Write,     // half of the data is written: SQLITE_IOERR_WRITE
    Sync,      // SQLITE_IOERR_FSYNC
    Read,      // SQLITE_IOERR_READ
    ShortRead, // the system call returns half of the requested bytes
    Truncate,  // SQLITE_IOERR_TRUNCATE
    Open,      // SQLITE_CANTOPEN
    Shm,       // mapping or locking of the WAL index
    Other,     // delete, access, file size and file lock
    Lost,      // the write reports success but is dropped; no code can handle this, so every_fault leaves it out
};
inline constexpr Fault every_fault[] = {Fault::Full, Fault::Write,    Fault::Sync, Fault::Read, Fault::ShortRead,
                                        Fault::Open, Fault::Truncate, Fault::Shm,  Fault::Other};
const char* name_of(Fault fault);

// SQLite's default VFS during its lifetime; all files must be closed before its destructor runs. Syncs are counted
// but not executed, because neither the process nor the machine crashes in these tests.
class FaultVfs {
public:
    FaultVfs();
    ~FaultVfs();
    FaultVfs(const FaultVfs&) = delete;
    FaultVfs& operator=(const FaultVfs&) = delete;

    // Makes the `nth` call (from 1) that matches the fault fail and, if `persistent`, all later ones; with nth = 0,
    // only counts these calls.
    void arm(Fault fault, uint64_t nth, bool persistent);
    void heal() { arm(Fault::None, 0, false); }
    uint64_t calls() const { return calls_; }       // calls that matched the fault, since arm()
    uint64_t failures() const { return failures_; } // how many of these failed
    uint64_t changes() const { return changes_; }   // requested writes, syncs, truncations and deletions

    struct Methods; // the callbacks of SQLite
private:
    bool fails(Fault fault); // counts the calls that match the fault
    void intercept_reads(bool take);

    sqlite3_vfs vfs_{};
    sqlite3_vfs* system_;
    Fault fault_ = Fault::None;
    uint64_t nth_ = 0, calls_ = 0, failures_ = 0, changes_ = 0;
    bool persistent_ = false;
};

} // namespace palimpsest::tests
