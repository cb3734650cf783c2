// Folders of .gguf files: ours and LM Studio's.
#include "storage/models/model_listing.h"

namespace palimpsest::storage {
namespace {

namespace fs = std::filesystem;

constexpr int deepest = 5; // PUBLISHER/REPOSITORY/FILE.gguf, and two more levels

std::string name_below(const fs::path& folder, const fs::path& path)
{
    const fs::path below = path.lexically_relative(folder).parent_path();
    return (below / (path.extension() == ".gguf" ? whole_stem(path) : path.filename().string())).generic_string();
}

void list(const fs::path& folder, ModelSource source, ModelListing& listing)
{
    for (const FolderEntry& entry : listing.entries_below(folder, deepest))
        if (entry.is_folder ? is_model_folder(entry.path) : is_gguf_model(entry.path))
            listing.add({name_below(folder, entry.path), source, entry.path});
}

} // namespace

void list_own_models(const fs::path& folder, ModelListing& listing)
{
    list(folder, ModelSource::Own, listing);
}

void list_lm_studio_models(const fs::path& folder, ModelListing& listing)
{
    list(folder, ModelSource::LmStudio, listing);
}

} // namespace palimpsest::storage
