// Opens a Hugging Face folder as a model: config.json, safetensors (one file or shards with an index), tokenizer
// files.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "engine/model/files/hf_tokenizer.h"
#include "engine/model/files/mapped_file.h"
#include "engine/model/files/model_files.h"

namespace palimpsest::engine {

// The opened files of the folder. Nothing in their content makes the loader open another file (docs/validation.md,
// C2).
struct HfFiles {
    std::filesystem::path folder;
    std::shared_ptr<MappedFile> config;
    std::shared_ptr<MappedFile> index;                          // null: one weight file
    std::map<std::string, std::shared_ptr<MappedFile>> weights; // by file name
    HfTokenizerFiles tokenizer;
};

// Throws Error as open_model. Tensors at addresses that are misaligned for their type are copied.
ModelFiles open_hf_folder(const std::filesystem::path& folder);

// Like open_hf_folder, from opened files (docs/validation.md, S1 to S9, C1 to C7, T1 to T9).
ModelFiles assemble_hf_model(const HfFiles& files);

} // namespace palimpsest::engine
