#pragma once

#include <vector>

#include "engine/model/files/gguf_file.h"
#include "engine/text/subwords/vocabulary.h"

namespace palimpsest::engine {

// The vocabulary of a GGUF file whose embedding has `rows` rows. An unknown vocabulary kind or pre-tokenizer gives
// Kind::None and a warning that names it.
Vocabulary gguf_vocabulary(const GgufFile& file, uint64_t rows, const Refusal& refuse, std::vector<Text>& warnings);

} // namespace palimpsest::engine
