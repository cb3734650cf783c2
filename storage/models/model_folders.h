// The folders with language models on this machine: ours, and those of other programs, which are only read.
#pragma once

#include <cstddef>
#include <filesystem>
#include <vector>

namespace palimpsest::storage {

// Limits the search if a home folder is given by mistake.
inline constexpr size_t most_folder_entries = 20000;

// Folders may be missing. Lists show models in this order.
struct ModelFolders {
    std::filesystem::path own;                       // $XDG_DATA_HOME/palimpsest/models
    std::vector<std::filesystem::path> lm_studio;    // PUBLISHER/REPOSITORY/FILE.gguf
    std::vector<std::filesystem::path> ollama;       // manifests/ and blobs/
    std::vector<std::filesystem::path> hugging_face; // the hub's cache: models--OWNER--NAME/
    size_t max_entries = most_folder_entries;        // limit per folder
};

// Folders from the environment: XDG_DATA_HOME, OLLAMA_MODELS, HF_HUB_CACHE, HF_HOME, XDG_CACHE_HOME, HOME. Searches
// no other place, so a test with its own environment sees no installed models.
ModelFolders model_folders();

std::filesystem::path models_folder();  // ours
std::filesystem::path encoder_folder(); // of the sentence encoder, in models_folder(); may be missing

} // namespace palimpsest::storage
