// Finds the models on this machine by name: the shipped one, those in our models folder, and those that LM Studio,
// Ollama and the Hugging Face hub have downloaded. Writes, copies and moves nothing.
//
// A GGUF file in several parts is one model with the path of its first part. Vision projectors are excluded.
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
    // Own: path below the folder without ".gguf". LM Studio: PUBLISHER/REPOSITORY/FILE. Ollama: NAME:TAG or
    // OWNER/NAME:TAG. Hugging Face: OWNER/NAME, with /FILE for a GGUF file.
    std::string name;
    ModelSource source = ModelSource::Own;
    std::filesystem::path path; // file or folder
    uint64_t bytes = 0;         // of all its files
    std::string architecture{}; // "llama", "qwen2"; empty: not read
    std::string type{};         // of the weights, "Q4_K_M"; empty: unknown
};

struct FoundModels {
    std::vector<FoundModel> models; // ordered by source, then name
    std::vector<std::string> notes; // one sentence per file or manifest left out
};

// Names: enough to look up a model. Headers: also architecture and type, from a bounded read of each file's header;
// leaves out files with a damaged header and adds a note.
enum class FindDetail { Names, Headers };

// Never throws because of the folders' content. Cost: reads the folders' entries, and the headers.
FoundModels find_models(const ModelFolders& folders, FindDetail detail);

// Finds the model for `name`: a whole name, its last part or file name, or a unique prefix of one of these. Ignores
// case; ":latest" is optional. Throws Error: NotFound, which suggests the nearest name; Usage (PAL-MODEL-20) with
// the candidates if several match.
const FoundModel& choose_model(const std::vector<FoundModel>& models, const std::string& name);

// The name that find_models gives to a model at this path, if the path determines it. A file of Ollama is named by
// its manifest or, if there is none, by the start of its digest.
std::string model_name(const std::filesystem::path& path);

} // namespace palimpsest::storage
