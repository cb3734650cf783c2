// Which model is used where none is named: the one that was set, else one of our models folder, else the shipped.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "storage/models/model_finder.h"

namespace palimpsest::storage {

// What config.json names as "model"; empty: nothing. Throws Error as read_config does.
std::string set_default();
// Throws Error as write_config does. Nothing: back to the rule below.
void set_default(const std::optional<std::string>& model);

// Of the models folder: SmolLM2-135M-Instruct as packaging/get-model installs it, or else the first by name whose
// header can be read. Other programs' models are never taken unasked.
std::optional<FoundModel> installed_model(const ModelFolders& folders);

// Throws Error: NotFound where what was set is gone, or where there is none at all.
std::filesystem::path default_model();

} // namespace palimpsest::storage
