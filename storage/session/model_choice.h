// From --model to a loaded model: a path, a name in the models folder, or the shipped one.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "engine/model/model.h"
#include "storage/session/session_choice.h"

namespace palimpsest::storage {

// Throws Error (NotFound) with a "did you mean".
std::filesystem::path find_model(const std::string& name);
// For `sessions` at a time that begin with these options. Throws Error as Model::load does, before anything is
// loaded also Resources (PAL-MEM-02) where the device has not enough memory; Interrupted once `loading` is stopped.
std::shared_ptr<const engine::Model> load_model(const SessionChoice& options, int sessions = 1,
                                                const engine::LoadOptions& loading = {});
// The same for a session with other options of its own.
std::shared_ptr<const engine::Model> load_model(const SessionChoice& options, const SessionChoice& own,
                                                int sessions = 1, const engine::LoadOptions& loading = {});

std::filesystem::path models_folder();
std::string model_name(const std::filesystem::path& path); // as find_model takes it
std::vector<std::filesystem::path> models_in_folder();
// Where the shipped model lies; it may be missing.
std::filesystem::path shipped_model();

} // namespace palimpsest::storage
