// A tokenizer.model before the sentencepiece library sees it (rules T2, T3, T6, T7, T8, T9).
//
// Field numbers are those of sentencepiece_model.proto (github.com/google/sentencepiece).
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include "engine/model/refusal.h"
#include "engine/text/vocabulary.h"

namespace palimpsest::engine {

struct SpmFacts {
    std::unordered_map<std::string, TokenId> ids; // of all pieces
    TokenId bos = -1, eos = -1, unknown = -1;     // as the model itself names them
};

// Linear time, no recursion.
SpmFacts check_spm_model(std::string_view bytes, const Refusal& refuse);

} // namespace palimpsest::engine
