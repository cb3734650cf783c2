// Finds a model on this machine by its fingerprint, wherever its file is.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "storage/models/model_folders.h"

namespace palimpsest::storage {

// Empty if the file is no model that can be opened. Cost: as engine::open_model.
std::string fingerprint_of(const std::filesystem::path& model);

// Looks at `was_at` first, then at the default model and at all that find_models finds, those of the same file name
// first. Cost: opens each until it is found, without its weights.
std::optional<std::filesystem::path> model_with(const std::string& fingerprint, const std::filesystem::path& was_at,
                                                const ModelFolders& folders);

} // namespace palimpsest::storage
