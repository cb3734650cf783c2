// The models that this machine already has, by name: the shipped one, those in our models folder, and those that
// LM Studio, Ollama and the Hugging Face hub have downloaded. Nothing is written, copied or moved.
//
// A GGUF file in several parts is one model, whose path is that of its first part. Vision projectors are left out.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "storage/models/model_folders.h"

namespace palimpsest::storage {

enum class ModelSource { Shipped, Own, LmStudio, Ollama, HuggingFace };
std::string source_name(ModelSource source); // "LM Studio"

struct FoundModel {
    // Own: the path below the folder without ".gguf". LM Studio: PUBLISHER/REPOSITORY/FILE. Ollama: NAME:TAG, or
    // OWNER/NAME:TAG. Hugging Face: OWNER/NAME, with /FILE for a GGUF file.
    std::string name;
    ModelSource source = ModelSource::Own;
    std::filesystem::path path; // of a file or a folder
    uint64_t bytes = 0;         // of all parts
    std::string architecture{}; // "llama", "qwen2"; empty: not read
    std::string type{};         // of the weights, "Q4_K_M"; empty: not known
};

struct FoundModels {
    std::vector<FoundModel> models; // by source, then by name
    std::vector<std::string> notes; // a sentence for each file or manifest that was left out
};

// Names only: what a command needs to look one up. Headers: also architecture and type, from a bounded read of each
// file's header; files whose header is damaged are left out with a note.
enum class FindDetail { Names, Headers };

// Never throws for what lies in the folders. Cost: the folders' entries, and the headers.
FoundModels find_models(const ModelFolders& folders, FindDetail detail);

// The one that `name` means: a whole name, its last part or file name, or the unique beginning of one of these;
// upper and lower case are the same, and ":latest" may be left out. Throws Error: NotFound with the nearest name,
// Usage (PAL-MODEL-20) with the candidates where several are meant.
const FoundModel& choose_model(const std::vector<FoundModel>& models, const std::string& name);

// A name for a model at this path, as find_models gives it where the path tells. A file of Ollama is named by its
// manifest, or where there is none, by the beginning of its digest.
std::string model_name(const std::filesystem::path& path);

} // namespace palimpsest::storage
