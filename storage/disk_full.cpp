#include "storage/disk_full.h"

#include <cerrno>

namespace palimpsest::storage {

bool disk_is_full(const SQLite::Exception& failure, sqlite3* handle)
{
    if (failure.getErrorCode() == SQLITE_FULL) return true;
    const int code = failure.getExtendedErrorCode();
    const int reason = handle ? sqlite3_system_errno(handle) : errno;
    return (code == SQLITE_IOERR_WRITE || code == SQLITE_IOERR_SHMSIZE || code == SQLITE_CANTOPEN) &&
           (reason == ENOSPC || reason == EDQUOT);
}

bool concerns_machine(const SQLite::Exception& failure)
{
    const int code = failure.getErrorCode() & 0xFF;
    return code == SQLITE_FULL || code == SQLITE_NOMEM ||
           (code == SQLITE_IOERR && failure.getExtendedErrorCode() != SQLITE_IOERR_SHORT_READ);
}

} // namespace palimpsest::storage
