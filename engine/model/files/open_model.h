// Opens a model from a file or folder, whichever format it has.
#pragma once

#include <filesystem>

#include "engine/model/files/model_files.h"

namespace palimpsest::engine {

// `path` may be any part of a split model; all parts are opened. Throws Error: NotFound (no such path, or a missing
// part), or Failed with PAL-MODEL-nn, where nn is the first rule that fails.
ModelFiles open_model(const std::filesystem::path& path);

} // namespace palimpsest::engine
