// Only the tokenizer of a model: no tensor is needed.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "engine/text/vocabulary.h"

namespace palimpsest::engine {

// `path` is a GGUF file, also one without tensors, a tokenizer.json, or a folder with tokenizer files. Throws Error
// as open_model; a vocabulary that this version cannot use is Kind::None with a warning that says why.
Vocabulary open_vocabulary(const std::filesystem::path& path, std::vector<std::string>& warnings);

} // namespace palimpsest::engine
