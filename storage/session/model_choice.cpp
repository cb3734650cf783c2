#include "storage/session/model_choice.h"

#include "engine/session/host_memory.h"
#include "engine/session/memory_plan.h"
#include "kernels/base/error.h"
#include "storage/models/default_model.h"
#include "storage/session/listener.h"

namespace palimpsest::storage {

namespace fs = std::filesystem;

fs::path find_model(const std::string& name)
{
    if (name.empty()) return default_model();
    std::error_code ignored;
    if (fs::exists(name, ignored)) return name;
    try {
        return choose_model(find_models(model_folders(), FindDetail::Names).models, name).path;
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::NotFound || name != set_default()) throw;
        throw Error(ErrorKind::NotFound, "PAL-MODEL-00", printable(name),
                    "the model that was set as the default is not on this machine any more",
                    "set another: palimpsest models use NAME, or undo it: palimpsest models use --none");
    }
}

std::string display_name(const engine::Model& model)
{
    const std::string name = model_name(model.files().path);
    return name.starts_with("sha256") ? model.config().name : name; // a blob of Ollama
}

std::optional<std::string> note_of_default(const SessionChoice& options, const engine::Model& model)
{
    if (!options.model.empty() || model.files().path != shipped_model()) return std::nullopt;
    return "no model is named or installed: the tiny built-in model answers, which shows how it works and knows "
           "very "
           "little. For real answers give --model (see palimpsest models list), or install one with "
           "packaging/get-model";
}

namespace {

// Where the length of the input is not known yet, its share is taken for the default.
engine::SessionOptions options_to_plan(SessionChoice options, const engine::ModelConfig& config)
{
    if (options.budget_is_share()) options.budget.clear();
    return options.session(config);
}

// Options that do not fit the model or one another are refused where the session is begun.
void require_host_memory(const engine::Model& model, const SessionChoice& options, int sessions)
{
    std::optional<engine::SessionOptions> planned;
    try {
        planned = options_to_plan(options, model.config());
        if (planned->budget == engine::no_budget) return; // grows with what is read
        engine::MemoryPlanner(model, engine::available_memory()).require(*planned, sessions);
    } catch (const Error& error) {
        if (error.kind() == ErrorKind::Resources) throw;
    }
}

} // namespace

std::optional<std::string> note_of_memory(const engine::Model& model, const SessionChoice& options, int sessions)
try {
    if (model.backend().memory()) return std::nullopt;
    const engine::SessionOptions planned = options_to_plan(options, model.config());
    if (planned.budget == engine::no_budget) return std::nullopt;
    return engine::MemoryPlanner(model, engine::available_memory()).warning(planned, sessions);
} catch (const Error&) {
    return std::nullopt; // is said where the session is begun
}

std::shared_ptr<const engine::Model> load_model(const SessionChoice& options, const SessionChoice& own,
                                                int sessions, const engine::LoadOptions& loading)
{
    const fs::path path = find_model(options.model);
    std::shared_ptr<kernels::Backend> backend = kernels::open_backend(options.backend());
    if (backend->memory()) {
        const engine::MemoryPlanner planner(path, *backend);
        planner.require(options_to_plan(own, planner.config()), sessions);
    }
    auto model = engine::Model::load(path, std::move(backend), loading);
    if (!model) throw Interrupted{"stopped while the model was loaded; nothing was changed"};
    if (!model->backend().memory()) require_host_memory(*model, own, sessions);
    return model;
}

std::shared_ptr<const engine::Model> load_model(const SessionChoice& options, int sessions,
                                                const engine::LoadOptions& loading)
{
    return load_model(options, options, sessions, loading);
}

} // namespace palimpsest::storage
