// The model that is part of this program: tiny, and always there.
#pragma once

#include <filesystem>

namespace palimpsest::storage {

// Where it lies; it may be missing.
std::filesystem::path shipped_model();

} // namespace palimpsest::storage
