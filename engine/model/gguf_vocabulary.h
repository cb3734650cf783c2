#pragma once

#include <string>
#include <vector>

#include "engine/model/gguf_file.h"
#include "engine/text/vocabulary.h"

namespace palimpsest::engine {

// The vocabulary of a GGUF file (rule G13), whose embedding has `rows` rows. One of a kind that this version cannot
// use becomes Kind::None and a warning.
Vocabulary gguf_vocabulary(const GgufFile& file, uint64_t rows, const Refusal& refuse,
                           std::vector<std::string>& warnings);

} // namespace palimpsest::engine
