// The model that comes with this program; it is very small.
#pragma once

#include <filesystem>

namespace palimpsest::storage {

// share/palimpsest/palimpsest-small.gguf in the nearest folder above the running program that has it: the prefix of
// an installation, or the build tree. The path in the folder above the program's if no folder has it.
std::filesystem::path shipped_model();

} // namespace palimpsest::storage
