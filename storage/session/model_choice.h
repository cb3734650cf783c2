// From --model to a loaded model: a path, the name of a model on this machine, or the default.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/model/model.h"
#include "kernels/base/error.h"
#include "storage/models/model_finder.h"
#include "storage/models/shipped_model.h"
#include "storage/session/session_choice.h"

namespace palimpsest::storage {

// A path, or a name as choose_model takes it; empty: the default model. Throws Error as choose_model and
// default_model do.
std::filesystem::path find_model(const std::string& name);
// For `sessions` at a time that begin with these options. Throws Error as Model::load does, before anything is
// computed also Resources (PAL-MEM-02) where there is not enough memory; Interrupted once `loading` is stopped.
std::shared_ptr<const engine::Model> load_model(const SessionChoice& options, int sessions = 1,
                                                const engine::LoadOptions& loading = {});
// The same for a session with other options of its own.
std::shared_ptr<const engine::Model> load_model(const SessionChoice& options, const SessionChoice& own,
                                                int sessions = 1, const engine::LoadOptions& loading = {});

// The name of the model's file in lists and results, as model_name gives it.
std::string display_name(const engine::Model& model);
// The name that the model gives itself, or where it has none or is Ollama's, that of its file.
std::string model_title(const engine::ModelFiles& files);

// The error that `work` throws names a file of Ollama, which is called after its digest, by the model's name.
Error with_model_name(const Error& error, const std::filesystem::path& path);
template<class Work>
auto with_names(const std::filesystem::path& path, Work&& work)
try {
    return work();
} catch (const Error& error) {
    throw with_model_name(error, path);
}

// Sentences for those who named no model: installed models that cannot be run, and that the shipped one, which is
// too small to answer well, was taken.
std::vector<std::string> notes_of_default(const SessionChoice& options, const engine::Model& model);
// A sentence if the model and `sessions` of these options take most of the memory, or more than is there.
std::optional<std::string> note_of_memory(const engine::Model& model, const SessionChoice& options,
                                          int sessions = 1);

} // namespace palimpsest::storage
