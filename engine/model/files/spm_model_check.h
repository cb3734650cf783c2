// Checks a tokenizer.model before the sentencepiece library parses it (docs/validation.md, T2, T3, T6 to T9).
//
// Field numbers are those of sentencepiece_model.proto (github.com/google/sentencepiece).
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include "engine/model/files/refusal.h"
#include "engine/text/subwords/vocabulary.h"

namespace palimpsest::engine {

struct SpmFacts {
    std::unordered_map<std::string, TokenId> ids; // of all pieces
    TokenId bos = -1, eos = -1, unknown = -1;     // as named in the model
};

// Linear time, no recursion.
SpmFacts check_spm_model(std::string_view bytes, const Refusal& refuse);

} // namespace palimpsest::engine
