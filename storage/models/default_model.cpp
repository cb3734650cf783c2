#include "storage/models/default_model.h"

#include <nlohmann/json.hpp>

#include "kernels/base/error.h"
#include "storage/models/config_file.h"
#include "storage/models/shipped_model.h"
#include "storage/session/model_choice.h"
#include "storage/session/user_folders.h"

namespace palimpsest::storage {
namespace {

namespace fs = std::filesystem;

constexpr const char* key = "model"; // the option's name

} // namespace

std::string set_default()
{
    const nlohmann::json config = read_config();
    const auto at = config.find(key);
    return at != config.end() && at->is_string() ? at->get<std::string>() : std::string();
}

void set_default(const std::optional<std::string>& model)
{
    write_config(key, model);
}

std::optional<FoundModel> installed_model(const ModelFolders& folders)
{
    ModelFolders own;
    own.own = folders.own;
    std::optional<FoundModel> first;
    for (FoundModel& model : find_models(own, FindDetail::Headers).models) {
        if (model.source != ModelSource::Own) continue;
        if (model.name == "SmolLM2-135M-Instruct.Q4_1") return std::move(model);
        if (!first) first = std::move(model);
    }
    return first;
}

fs::path default_model()
{
    if (const std::string set = set_default(); !set.empty()) return find_model(set);
    if (const auto installed = installed_model(model_folders())) return installed->path;
    std::error_code ignored;
    if (fs::exists(shipped_model(), ignored)) return shipped_model();
    throw Error(ErrorKind::NotFound, "PAL-MODEL-00", shipped_model().string(), "the shipped model is not there",
                "name another with --model");
}

} // namespace palimpsest::storage
