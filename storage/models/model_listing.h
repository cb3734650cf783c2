// Builds the list for find_models; one function per folder layout.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "storage/models/found_model.h"
#include "storage/models/model_folders.h"

namespace palimpsest::storage {

// entries_below lists files and folders down to `depth` levels, sorted, up to a maximum number; it follows links
// and skips unreadable folders.
struct FolderEntry {
    std::filesystem::path path;
    bool is_folder = false;
};
std::vector<FolderEntry> entries_below(const std::filesystem::path& folder, int depth);

class ModelListing {
public:
    explicit ModelListing(size_t max_entries = most_folder_entries) : most_entries_(max_entries) {}

    // Like the free function, but adds a note if a folder has more entries than the limit.
    std::vector<FolderEntry> entries_below(const std::filesystem::path& folder, int depth);
    // Adds a model with its size: the file, or the weights of the folder. For a file in parts, the first part adds
    // the model with the size of all parts; a missing part gives a note instead.
    void add(FoundModel model);
    void note(const std::filesystem::path& path, const Text& what); // `what`: why it is left out

    void read_headers(); // also removes files that are not language models
    FoundModels take();  // sorted

private:
    bool read_header(FoundModel& model);

    size_t most_entries_;
    FoundModels found_;
};

void list_own_models(const std::filesystem::path& folder, ModelListing& listing);
void list_lm_studio_models(const std::filesystem::path& folder, ModelListing& listing);
void list_ollama_models(const std::filesystem::path& folder, ModelListing& listing);
void list_hub_models(const std::filesystem::path& folder, ModelListing& listing);

// Whether `folder` is a Hugging Face model with weights. False for those of the sentence-transformers library,
// which turn texts into embeddings and answer nothing.
bool is_model_folder(const std::filesystem::path& folder);
bool is_gguf_model(const std::filesystem::path& file); // by name; excludes projectors
// "model" for model.gguf and for model-00001-of-00003.gguf.
std::string whole_stem(const std::filesystem::path& gguf);
// "OWNER/NAME" or "OWNER/NAME/FILE" for a path in the hub's cache.
std::optional<std::string> hub_name(const std::filesystem::path& path);
// Whether the path has the form of Ollama's files: blobs/sha256-DIGEST.
bool is_ollama_blob(const std::filesystem::path& path);
// Returns "NAME:TAG" of a file of Ollama, from the first manifest that references it; nullopt if none does. Reads
// all manifests.
std::optional<std::string> ollama_name(const std::filesystem::path& path);

} // namespace palimpsest::storage
