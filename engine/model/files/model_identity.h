#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "engine/model/files/model_files.h"

namespace palimpsest::engine {

// XXH3-128 over the full headers (metadata and tensor tables), the file sizes and samples of every tensor, as 32
// hex digits (docs/validation.md, G16). Takes milliseconds for any model; `full_hash` reads every byte.
std::string model_fingerprint(const ModelFiles& files, const std::vector<std::span<const std::byte>>& headers);

// XXH3-128 over every byte of the model's files, for `models verify`. Throws Error as open_model does.
std::string full_hash(const ModelFiles& files);

} // namespace palimpsest::engine
