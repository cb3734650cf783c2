// From --model to a loaded model: a path, a name in the models folder, or the shipped one.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "app/palimpsest/common_options.h"
#include "engine/model/model.h"

namespace palimpsest::app {

// Throws Error (NotFound) with a "did you mean".
std::filesystem::path find_model(const std::string& name);
// For `sessions` at a time that begin with these options. Throws Error as Model::load does, before anything is
// loaded also Resources (PAL-MEM-02) where the device has not enough memory.
std::shared_ptr<const engine::Model> load_model(const CommonOptions& options, int sessions = 1);
// The same for a session with other options of its own.
std::shared_ptr<const engine::Model> load_model(const CommonOptions& options, const CommonOptions& own,
                                                int sessions = 1);

std::filesystem::path models_folder();
std::string model_name(const std::filesystem::path& path); // as find_model takes it
std::vector<std::filesystem::path> models_in_folder();
// Where the shipped model lies; it may be missing.
std::filesystem::path shipped_model();

} // namespace palimpsest::app
