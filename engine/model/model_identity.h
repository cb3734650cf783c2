#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "engine/model/model_files.h"

namespace palimpsest::engine {

// XXH3-128 over the headers (metadata and tensor tables, whole), the size of the files and a few KiB of every
// tensor (rule G16), as 32 hex digits. Milliseconds for any model; `full_hash` reads every byte.
std::string model_fingerprint(const ModelFiles& files, const std::vector<std::span<const std::byte>>& headers);

} // namespace palimpsest::engine
