// The user's folders: the XDG base directories from the environment.
#pragma once

#include <string>

namespace palimpsest::storage {

std::string data_folder(); // of sessions and models
std::string config_path(); // of config.json, which may not exist

} // namespace palimpsest::storage
