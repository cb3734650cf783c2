// Where language models lie on this machine: our own folder, and those of other programs, which are only read.
#pragma once

#include <cstddef>
#include <filesystem>
#include <vector>

namespace palimpsest::storage {

// A home folder given by mistake is not walked for hours.
inline constexpr size_t most_folder_entries = 20000;

// Folders may be missing. The order is that of the lists.
struct ModelFolders {
    std::filesystem::path own;                       // $XDG_DATA_HOME/palimpsest/models
    std::vector<std::filesystem::path> lm_studio;    // PUBLISHER/REPOSITORY/FILE.gguf
    std::vector<std::filesystem::path> ollama;       // manifests/ and blobs/
    std::vector<std::filesystem::path> hugging_face; // the hub's cache: models--OWNER--NAME/
    size_t most_entries = most_folder_entries;       // of each of these that are looked at
};

// As the environment sets them: XDG_DATA_HOME, OLLAMA_MODELS, HF_HUB_CACHE, HF_HOME, XDG_CACHE_HOME, HOME. No other
// place is searched, so that a process whose environment names other folders sees nothing that is installed.
ModelFolders model_folders();

std::filesystem::path models_folder(); // our own

} // namespace palimpsest::storage
