// The model that comes with this program; it is very small.
#pragma once

#include <filesystem>

namespace palimpsest::storage {

// Its path; the file may be missing.
std::filesystem::path shipped_model();

} // namespace palimpsest::storage
