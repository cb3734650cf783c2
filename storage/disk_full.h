// Tells a full disk from the other failures of SQLite.
#pragma once

#include <SQLiteCpp/Exception.h>
#include <sqlite3.h>

namespace palimpsest::storage {

// Also true where SQLite reports a full disk under another code: quota exceeded, WAL index or file cannot be
// created. `handle` may be null.
bool disk_is_full(const SQLite::Exception& failure, sqlite3* handle);

} // namespace palimpsest::storage
