// The names of the sessions in a database, read in passing while a shell completes a command line.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace palimpsest::storage {

struct SessionName {
    std::string name, model;
};

// The last used comes first; at most 1,000. Unlike Database: creates no database, checks nothing, waits for no
// lock, and returns nothing where that is needed or where the file is missing or cannot be read.
std::vector<SessionName> session_names(const std::filesystem::path& file);

} // namespace palimpsest::storage
