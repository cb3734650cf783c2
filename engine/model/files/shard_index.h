#pragma once

#include <map>
#include <string>
#include <string_view>

#include "engine/model/files/refusal.h"

namespace palimpsest::engine {

// Tensor name to shard file name, from a model.safetensors.index.json. Names are plain base names, without
// directories (docs/validation.md, S8).
std::map<std::string, std::string> parse_shard_index(std::string_view text, const Refusal& refuse);

} // namespace palimpsest::engine
