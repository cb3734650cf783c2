// Chooses the default model: the configured one, else one from our models folder, else the shipped one.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "storage/models/model_finder.h"

namespace palimpsest::storage {

// The "model" in config.json; empty: not set. Throws Error like read_config, and Usage (PAL-OPTION-04) if it is not
// a string.
std::string set_default();
// nullopt removes the setting. Throws Error like write_config.
void set_default(const std::optional<std::string>& model);

struct InstalledModel {
    std::optional<FoundModel> model;
    std::vector<Text> skipped{}; // one sentence per preferred model that cannot run
};
// Chooses from the models folder: SmolLM2-135M-Instruct as packaging/get-model installs it, else the first model by
// name that can run. Never uses other programs' models. Opens the models in this order, which reads their headers,
// until one can run; `good` is known to run and is not opened.
InstalledModel installed_model(const ModelFolders& folders, const std::filesystem::path& good = {});

// The configured value is a path if it is absolute or begins with "./" or "../"; otherwise it is a name from the
// list of models, even if the current folder has a file of that name. Throws Error (NotFound) if the configured
// model, or every model, is missing.
std::filesystem::path default_model();

} // namespace palimpsest::storage
