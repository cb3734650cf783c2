// The names of the sessions and documents in a database, read in passing while a shell completes a command line.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace palimpsest::storage {

struct StoredName {
    std::string name, meaning;
};

// Both return at most 1,000 names. Unlike Database: they create no database, check nothing, wait for no lock, and
// return nothing where that is needed or where the file is missing or cannot be read.

// The last used comes first. The meaning is the name of the model.
std::vector<StoredName> session_names(const std::filesystem::path& file);
// The last stored comes first. A document is named by its title, and its meaning is its author; documents that
// share a title are named by their numbers, and their meaning is the title.
std::vector<StoredName> document_names(const std::filesystem::path& file);

} // namespace palimpsest::storage
