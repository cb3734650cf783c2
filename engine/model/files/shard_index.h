#pragma once

#include <map>
#include <string>
#include <string_view>

#include "engine/model/files/refusal.h"

namespace palimpsest::engine {

// Maps tensor names to shard file names, as model.safetensors.index.json does. File names with a directory are
// refused (docs/validation.md, S8).
std::map<std::string, std::string> parse_shard_index(std::string_view text, const Refusal& refuse);

} // namespace palimpsest::engine
