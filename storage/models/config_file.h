// config.json: a user's own defaults, by the names of the options. Comments are allowed.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

namespace palimpsest::storage {

// An empty object where there is no file. Throws Error (Usage, PAL-OPTION-04) if it is not a JSON object.
nlohmann::json read_config();

// Sets one key, or removes it for nothing. The rest of the file, its comments and its order stay as they are; the
// file is replaced in one step and made if it is missing. Throws Error: as read_config, Failed (PAL-DISK-03) where
// it cannot be written, Resources (PAL-DISK-01) where not all of it could be.
void write_config(const std::string& key, const std::optional<std::string>& value);

// The text of a config.json with one key set or removed. REQUIRES: it is a JSON object, with comments or not.
std::string with_key(const std::string& text, const std::string& key, const std::optional<std::string>& value);

} // namespace palimpsest::storage
