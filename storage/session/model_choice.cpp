#include "storage/session/model_choice.h"

#include "engine/session/host_memory.h"
#include "engine/session/memory_plan.h"
#include "kernels/base/error.h"
#include "kernels/base/printable.h"
#include "storage/models/default_model.h"
#include "storage/models/model_listing.h"
#include "storage/models/same_model.h"
#include "storage/session/listener.h"

namespace palimpsest::storage {

namespace fs = std::filesystem;

fs::path find_model(const std::string& name)
{
    if (name.empty()) return default_model();
    std::error_code ignored;
    if (fs::exists(name, ignored)) return name;
    return choose_model(find_models(model_folders(), FindDetail::Names).models, name).path;
}

std::string find_model_of(const std::string& fingerprint, const std::string& was_at)
{
    std::error_code ignored;
    if (fs::path(was_at).is_absolute() && fs::exists(was_at, ignored)) return was_at;
    const auto found = model_with(fingerprint, was_at, model_folders());
    return found ? found->string() : was_at;
}

std::string display_name(const engine::Model& model)
{
    return model_name(model.files().path);
}

std::string model_title(const engine::ModelFiles& files)
{
    return is_ollama_blob(files.path) || files.config.name.empty() ? model_name(files.path) : files.config.name;
}

Error with_model_name(const Error& error, const fs::path& path)
{
    if (!is_ollama_blob(path)) return error;
    const std::string subject = error.subject().english();
    if (subject != path.string() && subject != printable(path.string())) return error;
    return {error.kind(), error.code(),   Text::escaped(model_name(path)),
            error.text(), error.remedy(), error.offset()};
}

std::vector<Text> notes_of_default(const SessionChoice& options, const engine::Model& model)
{
    if (!options.model.empty() || !set_default().empty()) return {};
    std::vector<Text> notes = installed_model(model_folders(), model.files().path).skipped;
    if (model.files().path == shipped_model())
        notes.push_back(
            Text("no model is named or installed: the tiny built-in model answers, which shows how it works "
                 "and knows very little. For real answers choose another {0} ({1}), or install one with "
                 "packaging/get-model",
                 Setting::Model, Step::ListModels));
    return notes;
}

namespace {

// If the budget is a share and the input's length is unknown, plans with the default budget.
engine::SessionOptions options_to_plan(SessionChoice options, const engine::ModelConfig& config)
{
    if (options.budget_is_share()) options.budget.clear();
    return options.session(config);
}

// Ignores options that do not fit the model or each other; creating the session reports those.
void require_host_memory(const engine::Model& model, const SessionChoice& options, int sessions)
{
    std::optional<engine::SessionOptions> planned;
    try {
        planned = options_to_plan(options, model.config());
        if (planned->budget == engine::no_budget) return; // the cache grows while reading
        engine::MemoryPlanner(model, engine::available_memory()).require(*planned, sessions);
    } catch (const Error& error) {
        if (error.kind() == ErrorKind::Resources) throw;
    }
}

} // namespace

std::optional<Text> note_of_memory(const engine::Model& model, const SessionChoice& options, int sessions)
try {
    if (model.backend().memory()) return std::nullopt;
    const engine::SessionOptions planned = options_to_plan(options, model.config());
    if (planned.budget == engine::no_budget) return std::nullopt;
    return engine::MemoryPlanner(model, engine::available_memory()).warning(planned, sessions);
} catch (const Error&) {
    return std::nullopt; // reported when the session is created
}

std::shared_ptr<const engine::Model> load_model(const SessionChoice& options, const SessionChoice& own,
                                                int sessions, const engine::LoadOptions& loading)
{
    const fs::path path = find_model(options.model);
    std::shared_ptr<kernels::Backend> backend = kernels::open_backend(options.backend());
    auto model = with_names(path, [&] {
        if (backend->memory()) {
            const engine::MemoryPlanner planner(path, *backend);
            planner.require(options_to_plan(own, planner.config()), sessions);
        }
        return engine::Model::load(path, std::move(backend), loading);
    });
    if (!model) throw Interrupted{Text("stopped while the model was loaded; nothing was changed")};
    if (!model->backend().memory()) require_host_memory(*model, own, sessions);
    return model;
}

std::shared_ptr<const engine::Model> load_model(const SessionChoice& options, int sessions,
                                                const engine::LoadOptions& loading)
{
    return load_model(options, options, sessions, loading);
}

} // namespace palimpsest::storage
