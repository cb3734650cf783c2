// Which model is used where none is named: the one that was set, else one of our models folder, else the shipped.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "storage/models/model_finder.h"

namespace palimpsest::storage {

// The "model" of config.json; empty: none is set. Throws Error as read_config does, and Usage (PAL-OPTION-04) where
// it is no text.
std::string set_default();
// Throws Error as write_config does. Nothing: back to the rule below.
void set_default(const std::optional<std::string>& model);

struct InstalledModel {
    std::optional<FoundModel> model;
    std::vector<std::string> skipped{}; // a sentence for each model that comes before it and cannot be run
};
// From the models folder: SmolLM2-135M-Instruct as packaging/get-model installs it, or else the first by name that
// can be run. Other programs' models are never taken unasked. Opens models until one is good, which reads their
// headers; `good` is known to be.
InstalledModel installed_model(const ModelFolders& folders, const std::filesystem::path& good = {});

// The model that was set is a path if it is absolute or begins with "./" or "../", and else a name of 'models
// list', whatever files the current folder has. Throws Error: NotFound where it is gone, or where there is no model
// at all.
std::filesystem::path default_model();

} // namespace palimpsest::storage
