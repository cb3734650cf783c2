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
// name that can run. Never uses other programs' models. Opens models until one can run, which reads their headers;
// `good` is a model that is known to run.
InstalledModel installed_model(const ModelFolders& folders, const std::filesystem::path& good = {});

// The configured value is a path if it is absolute or begins with "./" or "../"; otherwise it is a name from
// the list of models, whatever files the current folder has. Throws Error (NotFound) if the configured model, or
// every model, is missing.
std::filesystem::path default_model();

} // namespace palimpsest::storage
