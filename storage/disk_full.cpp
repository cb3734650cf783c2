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

} // namespace palimpsest::storage
