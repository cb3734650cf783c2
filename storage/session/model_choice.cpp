#include "storage/session/model_choice.h"

#include <algorithm>

#include "engine/policy/registry.h"
#include "engine/session/memory_plan.h"
#include "kernels/base/error.h"
#include "storage/session/listener.h"
#include "storage/session/user_folders.h"

namespace palimpsest::storage {

namespace fs = std::filesystem;

fs::path models_folder()
{
    return fs::path(data_folder()) / "models";
}

std::vector<fs::path> models_in_folder()
{
    std::vector<fs::path> models;
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(models_folder(), ignored))
        if (entry.path().extension() == ".gguf" || fs::exists(entry.path() / "config.json", ignored))
            models.push_back(entry.path());
    std::sort(models.begin(), models.end());
    return models;
}

fs::path shipped_model()
{
    std::error_code ignored;
    if (fs::exists(PALIMPSEST_INSTALLED_MODEL, ignored)) return PALIMPSEST_INSTALLED_MODEL;
    return PALIMPSEST_SHIPPED_MODEL;
}

std::string model_name(const fs::path& path)
{
    return path.extension() == ".gguf" ? path.stem().string() : path.filename().string();
}

fs::path find_model(const std::string& name)
{
    std::error_code ignored;
    if (name.empty()) {
        if (fs::exists(shipped_model(), ignored)) return shipped_model();
        throw Error(ErrorKind::NotFound, "PAL-MODEL-00", shipped_model().string(), "the shipped model is not there",
                    "name another with --model");
    }
    if (fs::exists(name, ignored)) return name;
    std::vector<std::string> known;
    std::vector<fs::path> models = models_in_folder();
    models.push_back(shipped_model());
    for (const fs::path& model : models) {
        if ((model.filename() == name || model_name(model) == name) && fs::exists(model, ignored)) return model;
        known.push_back(model_name(model));
    }
    const std::string near = engine::nearest(name, known);
    throw Error(ErrorKind::NotFound, "PAL-MODEL-00", printable(name),
                "there is no such file, folder or model in " + models_folder().string(),
                near.empty() ? "give the path of a .gguf file or a Hugging Face folder"
                             : "did you mean '" + near + "'?");
}

namespace {

// Where the length of the input is not known yet, its share is taken for the default.
engine::SessionOptions options_to_plan(SessionChoice options, const engine::ModelConfig& config)
{
    if (options.budget_is_share()) options.budget.clear();
    return options.session(config);
}

} // namespace

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
    return model;
}

std::shared_ptr<const engine::Model> load_model(const SessionChoice& options, int sessions,
                                                const engine::LoadOptions& loading)
{
    return load_model(options, options, sessions, loading);
}

} // namespace palimpsest::storage
