// A model on this machine, as it is listed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "kernels/base/text.h"

namespace palimpsest::storage {

enum class ModelSource { Shipped, Own, LmStudio, Ollama, HuggingFace };
Text source_name(ModelSource source); // "LM Studio"

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
    std::vector<Text> notes;        // one sentence per file or manifest left out
};

} // namespace palimpsest::storage
