// Distinguishes a full disk from SQLite's other failures.
#pragma once

#include <SQLiteCpp/Exception.h>
#include <sqlite3.h>

namespace palimpsest::storage {

// Also true for a full disk that SQLite reports with another code: the quota is exceeded, or the WAL index or a
// file cannot be created. `handle` may be null.
bool disk_is_full(const SQLite::Exception& failure, sqlite3* handle);
// Whether a failure does not come from what is in the file: the disk is full or fails, or memory is short.
bool concerns_machine(const SQLite::Exception& failure);

} // namespace palimpsest::storage
