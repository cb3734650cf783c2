#include "storage/models/default_model.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/model/files/open_model.h"
#include "kernels/base/error.h"
#include "kernels/base/printable.h"
#include "storage/models/config_file.h"
#include "storage/models/shipped_model.h"
#include "storage/user_folders.h"

namespace palimpsest::storage {
namespace {

namespace fs = std::filesystem;

constexpr const char* key = "model"; // the option's name

bool is_path(const std::string& set)
{
    return fs::path(set).is_absolute() || set.starts_with("./") || set.starts_with("../");
}

// Returns why the model cannot be run; nullopt if it can.
std::optional<Text> refusal_of(const fs::path& path)
try {
    const engine::ModelFiles files = engine::open_model(path);
    if (files.vocabulary.kind == engine::Vocabulary::Kind::None) return Text("it has no tokenizer that is known");
    return std::nullopt;
} catch (const Error& error) {
    return error.text();
}

} // namespace

std::string set_default()
{
    const nlohmann::json config = read_config();
    const auto at = config.find(key);
    if (at == config.end()) return {};
    if (!at->is_string())
        throw Error(ErrorKind::Usage, ErrorCode::InvalidConfiguration, Text::verbatim(config_path()),
                    Text("'{0}' cannot be '{1}'", key, printable(at->dump())), Text("correct it or remove it"));
    return at->get<std::string>();
}

void set_default(const std::optional<std::string>& model)
{
    write_config(key, model);
}

InstalledModel installed_model(const ModelFolders& folders, const fs::path& good)
{
    ModelFolders own;
    own.own = folders.own;
    FoundModels found = find_models(own, FindDetail::Headers);
    std::erase_if(found.models, [](const FoundModel& model) { return model.source != ModelSource::Own; });
    std::stable_partition(found.models.begin(), found.models.end(),
                          [](const FoundModel& model) { return model.name == "SmolLM2-135M-Instruct.Q4_1"; });
    InstalledModel installed{.model = std::nullopt, .skipped = std::move(found.notes)};
    for (FoundModel& model : found.models) {
        const auto refusal = model.path == good ? std::nullopt : refusal_of(model.path);
        if (!refusal) {
            installed.model = std::move(model);
            break;
        }
        installed.skipped.push_back(
            Text("{0} of the models folder is not the default: {1}", printable(model.name), *refusal));
    }
    return installed;
}

fs::path default_model()
{
    if (const std::string set = set_default(); !set.empty()) {
        const auto refuse = [&] {
            throw Error(ErrorKind::NotFound, ErrorCode::ModelNotFound, Text::escaped(set),
                        Text("the model that was set as the default is not on this machine any more"),
                        Text(Step::SetDefaultModel));
        };
        std::error_code ignored;
        if (is_path(set)) {
            if (!fs::exists(set, ignored)) refuse();
            return set;
        }
        try {
            return choose_model(find_models(model_folders(), FindDetail::Names).models, set).path;
        } catch (const Error& error) {
            if (error.kind() != ErrorKind::NotFound) throw;
            refuse();
        }
    }
    if (const auto installed = installed_model(model_folders()).model) return installed->path;
    std::error_code ignored;
    if (fs::exists(shipped_model(), ignored)) return shipped_model();
    throw Error(ErrorKind::NotFound, ErrorCode::ModelNotFound, Text::verbatim(shipped_model().string()),
                Text("the shipped model is not there"), Text(Step::ChooseModel));
}

} // namespace palimpsest::storage
