// The cache of the Hugging Face hub: models--OWNER--NAME/snapshots/REVISION/ has links into blobs/, and refs/main
// holds the newest downloaded revision.
#include <algorithm>
#include <fstream>

#include "storage/models/model_finder.h"
#include "storage/models/model_listing.h"

namespace palimpsest::storage {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view prefix = "models--";

// "models--OWNER--NAME" -> "OWNER/NAME"; the first "--" separates, the name may contain more.
std::string repository_name(const std::string& folder)
{
    std::string name = folder.substr(prefix.size());
    if (const size_t separator = name.find("--"); separator != std::string::npos) name.replace(separator, 2, "/");
    return name;
}

// The snapshot that refs/main names, else the most recent one.
std::optional<fs::path> snapshot_of(const fs::path& repository)
{
    std::error_code unknown;
    std::string revision;
    std::getline(std::ifstream(repository / "refs" / "main") >> std::ws, revision);
    while (!revision.empty() && revision.back() == '\r')
        revision.pop_back();
    const fs::path named = repository / "snapshots" / revision;
    const bool is_name = !revision.empty() && revision.size() <= 64 && revision.find('/') == std::string::npos &&
                         revision.find("..") == std::string::npos;
    if (is_name && fs::is_directory(named, unknown)) return named;
    std::optional<fs::path> newest;
    fs::file_time_type made{};
    for (const FolderEntry& entry : entries_below(repository / "snapshots", 1)) {
        if (!entry.is_folder) continue;
        const auto time = fs::last_write_time(entry.path, unknown);
        if (!newest || time > made) newest = entry.path, made = time;
    }
    return newest;
}

} // namespace

std::optional<std::string> hub_name(const fs::path& path)
{
    std::string repository, below;
    int level = 0; // the parts found so far: 1 the repository, 2 "snapshots", 3 the revision
    for (const fs::path& part : path) {
        const std::string name = part.string();
        if (name.starts_with(prefix) && name.size() > prefix.size()) {
            repository = repository_name(name), below.clear(), level = 1;
        } else if (level == 1) {
            level = name == "snapshots" ? 2 : 0;
        } else if (level == 2) {
            level = 3;
        } else if (level == 3 && !name.empty()) {
            below += "/" + (part.extension() == ".gguf" ? whole_stem(part) : name);
        }
    }
    if (level != 3) return std::nullopt;
    return repository + below;
}

void list_hub_models(const fs::path& folder, ModelListing& listing)
{
    constexpr int deepest = 3; // a repository may have subfolders
    for (const FolderEntry& repository : listing.entries_below(folder, 1)) {
        if (!repository.is_folder || !repository.path.filename().string().starts_with(prefix)) continue;
        const auto snapshot = snapshot_of(repository.path);
        if (!snapshot) continue;
        const auto add = [&](const fs::path& path) {
            listing.add({model_name(path), ModelSource::HuggingFace, path});
        };
        if (is_model_folder(*snapshot)) add(*snapshot);
        for (const FolderEntry& entry : listing.entries_below(*snapshot, deepest))
            if (!entry.is_folder && is_gguf_model(entry.path)) add(entry.path);
    }
}

} // namespace palimpsest::storage
