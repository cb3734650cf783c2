// A Hugging Face folder as a model: config.json, safetensors (one file or shards with an index), tokenizer files.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "engine/model/hf_tokenizer.h"
#include "engine/model/mapped_file.h"
#include "engine/model/model_files.h"

namespace palimpsest::engine {

// What the folder contributes, opened. No other file is ever touched, whatever these say (rule C2).
struct HfFiles {
    std::filesystem::path folder;
    std::shared_ptr<MappedFile> config;
    std::shared_ptr<MappedFile> index;                          // null: one weight file
    std::map<std::string, std::shared_ptr<MappedFile>> weights; // by file name
    HfTokenizerFiles tokenizer;
};

// Throws Error as open_model. Tensors that lie at addresses odd for their type are copied.
ModelFiles open_hf_folder(const std::filesystem::path& folder);

// The same from opened files: rules S1..S9, C1..C7, T1..T9.
ModelFiles assemble_hf_model(const HfFiles& files);

} // namespace palimpsest::engine
