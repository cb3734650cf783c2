// Deletes rows for good, so that nothing of them is left on the disk.
#pragma once

#include <functional>
#include <optional>

#include "kernels/base/error.h"
#include "storage/database.h"

namespace palimpsest::storage {

// Runs `remove` in a transaction, overwrites the pages that it frees, truncates the log, deletes all backups
// and left-overs of killed programs, and makes a new backup. Returns the error if the new backup failed. Throws
// Error as Database::guarded; then nothing was removed.
std::optional<Error> erase(Database& database, const std::function<void()>& remove);

// Notes in the current transaction that something is deleted for good, so that the next owner finishes it if this
// program is killed. erase() does this itself.
void mark_erasure(Database& database);
// Finishes what a killed program has begun: the rows are gone, the free pages, log and backups are not. Without
// effect otherwise. REQUIRES: the caller owns the database. Throws Error as Database::guarded.
void finish_erasure(Database& database);

} // namespace palimpsest::storage
