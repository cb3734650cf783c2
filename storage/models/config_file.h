// config.json: the user's defaults, with the names of the options as keys. Comments are allowed.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

namespace palimpsest::storage {

// Returns an empty object if there is no file. Throws Error (Usage, PAL-OPTION-04) if it is not a JSON object.
nlohmann::json read_config();

// Sets one key, or removes it if `value` is nullopt. Preserves the rest of the file with comments and order;
// replaces the file atomically, or creates it. Throws Error: like read_config, Failed (PAL-DISK-03) if it cannot be
// opened for writing, Resources (PAL-DISK-01) if writing failed.
void write_config(const std::string& key, const std::optional<std::string>& value);

// The text of a config.json with one key set or removed. REQUIRES: `text` is a JSON object; comments are allowed.
std::string with_key(const std::string& text, const std::string& key, const std::optional<std::string>& value);

} // namespace palimpsest::storage
