// Finds the models on this machine by name: the shipped one, those in our models folder, and those that LM Studio,
// Ollama and the Hugging Face hub have downloaded. Writes, copies and moves nothing.
//
// A GGUF file in several parts is one model with the path of its first part. Vision projectors are excluded.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "storage/models/found_model.h"
#include "storage/models/model_folders.h"

namespace palimpsest::storage {

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
