// Opens only the tokenizer of a model, without its tensors.
#pragma once

#include <filesystem>
#include <vector>

#include "engine/text/subwords/vocabulary.h"
#include "kernels/base/text.h"

namespace palimpsest::engine {

// `path` is a GGUF file (with or without tensors), a tokenizer.json, or a folder with tokenizer files. Throws Error
// as open_model; an unsupported vocabulary gives Kind::None with a warning that says why.
Vocabulary open_vocabulary(const std::filesystem::path& path, std::vector<Text>& warnings);

} // namespace palimpsest::engine
