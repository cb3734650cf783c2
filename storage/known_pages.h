// Recognises a Palimpsest database whose first page is damaged.
#pragma once

#include <filesystem>

namespace palimpsest::storage {

// Whether the list of tables of a Palimpsest database stands in the first 2 MiB of a file or of its write-ahead
// log. False if they cannot be read.
bool has_known_pages(const std::filesystem::path& database);

// Whether a file begins as an SQLite database does, and goes on with format numbers that none has: SQLite then says
// that it cannot be opened or written, or that a request is wrong. False if it cannot be read.
bool has_damaged_header(const std::filesystem::path& database);

} // namespace palimpsest::storage
