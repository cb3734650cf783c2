#include "storage/models/same_model.h"

#include <algorithm>
#include <vector>

#include "engine/model/files/open_model.h"
#include "kernels/base/error.h"
#include "storage/models/default_model.h"
#include "storage/models/model_finder.h"

namespace palimpsest::storage {
namespace {

namespace fs = std::filesystem;

// The default may be a file that is in none of the folders.
std::vector<fs::path> models_here(const ModelFolders& folders)
{
    std::vector<fs::path> paths;
    try {
        paths.push_back(default_model());
    } catch (const Error&) {
        // There is none, or it is not there any more.
    }
    for (FoundModel& model : find_models(folders, FindDetail::Names).models)
        paths.push_back(std::move(model.path));
    return paths;
}

} // namespace

std::string fingerprint_of(const fs::path& model)
try {
    return engine::open_model(model).fingerprint;
} catch (const Error&) {
    return {};
}

std::optional<fs::path> model_with(const std::string& fingerprint, const fs::path& was_at,
                                   const ModelFolders& folders)
{
    std::error_code ignored;
    if (was_at.is_absolute() && fs::exists(was_at, ignored) && fingerprint_of(was_at) == fingerprint) return was_at;
    std::vector<fs::path> paths = models_here(folders);
    std::ranges::stable_partition(paths,
                                  [&](const fs::path& path) { return path.filename() == was_at.filename(); });
    const auto found =
        std::ranges::find_if(paths, [&](const fs::path& path) { return fingerprint_of(path) == fingerprint; });
    return found == paths.end() ? std::nullopt : std::optional(*found);
}

} // namespace palimpsest::storage
