// How find_models gathers what each program keeps: one function per layout of folders.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "storage/models/model_finder.h"

namespace palimpsest::storage {

class ModelListing {
public:
    // Measures the file, or the weights of the folder. Of a file in parts only the first one is taken, all are
    // measured, and a missing one is noted.
    void add(FoundModel model);
    void note(const std::filesystem::path& path, const std::string& what); // why it is left out

    void read_headers(); // leaves out what is no language model
    FoundModels take();  // sorted

private:
    bool read_header(FoundModel& model);

    FoundModels found_;
};

void list_own_models(const std::filesystem::path& folder, ModelListing& listing);
void list_lm_studio_models(const std::filesystem::path& folder, ModelListing& listing);
void list_ollama_models(const std::filesystem::path& folder, ModelListing& listing);
void list_hub_models(const std::filesystem::path& folder, ModelListing& listing);

// Files and folders below `folder`, ascending, links followed; bounded in depth and number. Unreadable folders are
// passed over.
struct FolderEntry {
    std::filesystem::path path;
    bool is_folder = false;
};
std::vector<FolderEntry> entries_below(const std::filesystem::path& folder, int depth);

// A Hugging Face folder with weights.
bool is_model_folder(const std::filesystem::path& folder);
bool is_gguf_model(const std::filesystem::path& file); // by its name: no projector
// "model" of model.gguf and of model-00001-of-00003.gguf.
std::string whole_stem(const std::filesystem::path& gguf);
// "OWNER/NAME" or "OWNER/NAME/FILE" of a path within the hub's cache.
std::optional<std::string> hub_name(const std::filesystem::path& path);

} // namespace palimpsest::storage
