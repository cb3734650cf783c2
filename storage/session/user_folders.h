// Where a user's own files lie: the XDG base directories, as the environment sets them.
#pragma once

#include <string>

namespace palimpsest::storage {

std::string data_folder(); // of the sessions and models
std::string config_path(); // of config.json, which may be missing

} // namespace palimpsest::storage
