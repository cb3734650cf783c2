#include "tests/support/fault_vfs.h"

#include <unistd.h>

namespace palimpsest::tests {
namespace {

struct File { // the system's own file object is stored behind it
    sqlite3_file base;
    FaultVfs* vfs;
};

FaultVfs* current = nullptr; // for callbacks without a user pointer

sqlite3_file* system_file(sqlite3_file* file)
{
    return reinterpret_cast<sqlite3_file*>(reinterpret_cast<File*>(file) + 1);
}

} // namespace

struct FaultVfs::Methods {
    static FaultVfs& of(sqlite3_file* file) { return *reinterpret_cast<File*>(file)->vfs; }
    static FaultVfs& of(sqlite3_vfs* vfs) { return *static_cast<FaultVfs*>(vfs->pAppData); }
    static const sqlite3_io_methods& io(sqlite3_file* file) { return *system_file(file)->pMethods; }

    static int close(sqlite3_file* file) { return io(file).xClose(system_file(file)); }

    static int read(sqlite3_file* file, void* to, int count, sqlite3_int64 at)
    {
        if (of(file).fails(Fault::Read)) return SQLITE_IOERR_READ;
        return io(file).xRead(system_file(file), to, count, at);
    }

    static ssize_t short_read(int descriptor, void* to, size_t count, off_t at)
    {
        if (current->fails(Fault::ShortRead)) count = (count + 1) / 2;
        return pread(descriptor, to, count, at);
    }

    static int write(sqlite3_file* file, const void* from, int count, sqlite3_int64 at)
    {
        ++of(file).changes_;
        if (of(file).fails(Fault::Lost)) return SQLITE_OK;
        const bool full = of(file).fails(Fault::Full), broken = of(file).fails(Fault::Write);
        if (!full && !broken) return io(file).xWrite(system_file(file), from, count, at);
        io(file).xWrite(system_file(file), from, count / 2, at);
        return full ? SQLITE_FULL : SQLITE_IOERR_WRITE;
    }

    static int truncate(sqlite3_file* file, sqlite3_int64 size)
    {
        ++of(file).changes_;
        if (of(file).fails(Fault::Truncate)) return SQLITE_IOERR_TRUNCATE;
        return io(file).xTruncate(system_file(file), size);
    }

    static int sync(sqlite3_file* file, int)
    {
        ++of(file).changes_;
        return of(file).fails(Fault::Sync) ? SQLITE_IOERR_FSYNC : SQLITE_OK;
    }

    static int file_size(sqlite3_file* file, sqlite3_int64* size)
    {
        if (of(file).fails(Fault::Other)) return SQLITE_IOERR_FSTAT;
        return io(file).xFileSize(system_file(file), size);
    }

    static int lock(sqlite3_file* file, int level)
    {
        if (of(file).fails(Fault::Other)) return SQLITE_IOERR_LOCK;
        return io(file).xLock(system_file(file), level);
    }

    static int unlock(sqlite3_file* file, int level) { return io(file).xUnlock(system_file(file), level); }

    static int check_reserved(sqlite3_file* file, int* result)
    {
        if (of(file).fails(Fault::Other)) return SQLITE_IOERR_CHECKRESERVEDLOCK;
        return io(file).xCheckReservedLock(system_file(file), result);
    }

    static int control(sqlite3_file* file, int operation, void* argument)
    {
        return io(file).xFileControl(system_file(file), operation, argument);
    }

    static int sector_size(sqlite3_file* file) { return io(file).xSectorSize(system_file(file)); }
    static int characteristics(sqlite3_file* file) { return io(file).xDeviceCharacteristics(system_file(file)); }

    static int shm_map(sqlite3_file* file, int region, int size, int extend, void volatile** to)
    {
        if (of(file).fails(Fault::Shm)) return SQLITE_IOERR_SHMMAP;
        return io(file).xShmMap(system_file(file), region, size, extend, to);
    }

    static int shm_lock(sqlite3_file* file, int offset, int count, int flags)
    {
        if ((flags & SQLITE_SHM_LOCK) && of(file).fails(Fault::Shm)) return SQLITE_IOERR_SHMLOCK;
        return io(file).xShmLock(system_file(file), offset, count, flags);
    }

    static void shm_barrier(sqlite3_file* file) { io(file).xShmBarrier(system_file(file)); }
    static int shm_unmap(sqlite3_file* file, int remove) { return io(file).xShmUnmap(system_file(file), remove); }

    static int open(sqlite3_vfs* vfs, const char* name, sqlite3_file* file, int flags, int* out);

    static int remove(sqlite3_vfs* vfs, const char* name, int sync_folder)
    {
        ++of(vfs).changes_;
        if (of(vfs).fails(Fault::Other)) return SQLITE_IOERR_DELETE;
        return of(vfs).system_->xDelete(of(vfs).system_, name, sync_folder);
    }

    static int access(sqlite3_vfs* vfs, const char* name, int flags, int* result)
    {
        if (of(vfs).fails(Fault::Other)) return SQLITE_IOERR_ACCESS;
        return of(vfs).system_->xAccess(of(vfs).system_, name, flags, result);
    }

    static int full_path(sqlite3_vfs* vfs, const char* name, int size, char* out)
    {
        return of(vfs).system_->xFullPathname(of(vfs).system_, name, size, out);
    }
};

namespace {

using M = FaultVfs::Methods;
const sqlite3_io_methods methods{.iVersion = 2, // no memory mapping
                                 .xClose = M::close,
                                 .xRead = M::read,
                                 .xWrite = M::write,
                                 .xTruncate = M::truncate,
                                 .xSync = M::sync,
                                 .xFileSize = M::file_size,
                                 .xLock = M::lock,
                                 .xUnlock = M::unlock,
                                 .xCheckReservedLock = M::check_reserved,
                                 .xFileControl = M::control,
                                 .xSectorSize = M::sector_size,
                                 .xDeviceCharacteristics = M::characteristics,
                                 .xShmMap = M::shm_map,
                                 .xShmLock = M::shm_lock,
                                 .xShmBarrier = M::shm_barrier,
                                 .xShmUnmap = M::shm_unmap,
                                 .xFetch = nullptr,
                                 .xUnfetch = nullptr};

} // namespace

int FaultVfs::Methods::open(sqlite3_vfs* vfs, const char* name, sqlite3_file* file, int flags, int* out)
{
    FaultVfs& self = of(vfs);
    file->pMethods = nullptr;
    if (self.fails(Fault::Open)) return SQLITE_CANTOPEN;
    const int result = self.system_->xOpen(self.system_, name, system_file(file), flags, out);
    if (!system_file(file)->pMethods) return result;
    file->pMethods = &methods;
    reinterpret_cast<File*>(file)->vfs = &self;
    return result;
}

const char* name_of(Fault fault)
{
    static const char* const names[] = {"none",         "full disk",  "failed write", "failed flush",
                                        "failed read",  "short read", "truncate",     "open",
                                        "shared index", "other",      "lost write"};
    return names[static_cast<int>(fault)];
}

FaultVfs::FaultVfs() : system_(sqlite3_vfs_find(nullptr))
{
    vfs_ = *system_;
    vfs_.szOsFile += static_cast<int>(sizeof(File));
    vfs_.zName = "palimpsest-fault";
    vfs_.pAppData = this;
    vfs_.pNext = nullptr;
    vfs_.xOpen = Methods::open;
    vfs_.xDelete = Methods::remove;
    vfs_.xAccess = Methods::access;
    vfs_.xFullPathname = Methods::full_path;
    sqlite3_vfs_register(&vfs_, 1);
    intercept_reads(true);
}

FaultVfs::~FaultVfs()
{
    intercept_reads(false);
    sqlite3_vfs_unregister(&vfs_);
    sqlite3_vfs_register(system_, 1);
}

// Replaces the system call that SQLite reads with, which is pread or pread64, depending on SQLite's build.
void FaultVfs::intercept_reads(bool take)
{
    current = take ? this : nullptr;
    static_assert(sizeof(off_t) == sizeof(off64_t));
    const auto call = reinterpret_cast<sqlite3_syscall_ptr>(Methods::short_read);
    for (const char* name : {"pread", "pread64"})
        if (system_->xGetSystemCall(system_, name)) system_->xSetSystemCall(system_, name, take ? call : nullptr);
}

void FaultVfs::arm(Fault fault, uint64_t nth, bool persistent)
{
    fault_ = fault;
    nth_ = nth;
    persistent_ = persistent;
    calls_ = failures_ = 0;
}

bool FaultVfs::fails(Fault fault)
{
    if (fault != fault_) return false;
    ++calls_;
    const bool now = nth_ > 0 && (persistent_ ? calls_ >= nth_ : calls_ == nth_);
    failures_ += now;
    return now;
}

} // namespace palimpsest::tests
