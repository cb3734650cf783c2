// Recognises a Palimpsest database whose first page is damaged.
#pragma once

#include <filesystem>

namespace palimpsest::storage {

// Whether the list of tables of a Palimpsest database stands in the first 2 MiB of a file or of its write-ahead
// log. False if they cannot be read.
bool has_known_pages(const std::filesystem::path& database);

} // namespace palimpsest::storage
