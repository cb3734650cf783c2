// Resolves the name of a model to a loaded model: a path, the name of an installed model, or the default.
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

// `name`: a path, or a name as in choose_model; empty: the default model. Throws Error like choose_model and
// default_model.
std::filesystem::path find_model(const std::string& name);
// Where the model of a stored session is: `was_at`, or another place on this machine, as after it was moved;
// `was_at` if it is nowhere. Cost: as model_with if it is not there.
std::string find_model_of(const std::string& fingerprint, const std::string& was_at);
// Loads the model for `sessions` concurrent sessions with these options. Throws Error like Model::load, and
// Resources (PAL-MEM-02) before any computation if memory does not suffice; Interrupted once `loading` is stopped.
std::shared_ptr<const engine::Model> load_model(const SessionChoice& options, int sessions = 1,
                                                const engine::LoadOptions& loading = {});
// Loads the model for a stored session that was created with the options `own`.
std::shared_ptr<const engine::Model> load_model(const SessionChoice& options, const SessionChoice& own,
                                                int sessions = 1, const engine::LoadOptions& loading = {});

// The model file's name in lists and results, as in model_name.
std::string display_name(const engine::Model& model);
// The name stored in the model; if there is none, or the file belongs to Ollama, the file's name.
std::string model_title(const engine::ModelFiles& files);

// Returns the error with an Ollama model's name as its subject instead of the file's, which is a digest; other
// errors unchanged.
Error with_model_name(const Error& error, const std::filesystem::path& path);
// Runs `work` and passes its errors through with_model_name.
template<class Work>
auto with_names(const std::filesystem::path& path, Work&& work)
try {
    return work();
} catch (const Error& error) {
    throw with_model_name(error, path);
}

// Notes for users who named no model: installed models that cannot run, and that the shipped model was used, which
// is too small to answer well.
std::vector<Text> notes_of_default(const SessionChoice& options, const engine::Model& model);
// A warning if the model and `sessions` sessions take most of the memory, or more than is available.
std::optional<Text> note_of_memory(const engine::Model& model, const SessionChoice& options, int sessions = 1);

} // namespace palimpsest::storage
