// Deletes rows for good, so that nothing of them is left on the disk.
#pragma once

#include <functional>
#include <optional>

#include "kernels/base/error.h"
#include "storage/database.h"

namespace palimpsest::storage {

// Runs `remove` in a transaction, overwrites the pages that it frees, truncates the log, deletes all backups and
// makes a new one. Returns the error if the new backup failed. Throws Error as Database::guarded; then nothing was
// removed.
std::optional<Error> erase(Database& database, const std::function<void()>& remove);

} // namespace palimpsest::storage
