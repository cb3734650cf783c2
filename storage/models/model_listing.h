// How find_models gathers what each program keeps: one function per layout of folders.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "storage/models/model_finder.h"

namespace palimpsest::storage {

// Files and folders below `folder`, ascending, links followed; bounded in depth and number. Unreadable folders are
// passed over.
struct FolderEntry {
    std::filesystem::path path;
    bool is_folder = false;
};
std::vector<FolderEntry> entries_below(const std::filesystem::path& folder, int depth);

class ModelListing {
public:
    explicit ModelListing(size_t most_entries = most_folder_entries) : most_entries_(most_entries) {}

    // As the function above; a folder with more entries than are looked at is noted.
    std::vector<FolderEntry> entries_below(const std::filesystem::path& folder, int depth);
    // Measures the file, or the weights of the folder. A file in parts is added by its first part: all are
    // measured, and a missing one is noted.
    void add(FoundModel model);
    void note(const std::filesystem::path& path, const std::string& what); // why it is left out

    void read_headers(); // leaves out what is no language model
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

// A Hugging Face folder with weights.
bool is_model_folder(const std::filesystem::path& folder);
bool is_gguf_model(const std::filesystem::path& file); // by its name: no projector
// "model" of model.gguf and of model-00001-of-00003.gguf.
std::string whole_stem(const std::filesystem::path& gguf);
// "OWNER/NAME" or "OWNER/NAME/FILE" of a path within the hub's cache.
std::optional<std::string> hub_name(const std::filesystem::path& path);
// Whether it is named as Ollama names its files: blobs/sha256-DIGEST.
bool is_ollama_blob(const std::filesystem::path& path);
// "NAME:TAG" of such a file, by the first manifest that names it; nothing if none does. Reads the manifests.
std::optional<std::string> ollama_name(const std::filesystem::path& path);

} // namespace palimpsest::storage
