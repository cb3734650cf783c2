// How the sentence-transformers library uses an encoder, read from sentence_bert_config.json and
// 1_Pooling/config.json. A folder may have neither file. Rule E4 in docs/validation.md says what is checked.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "engine/model/files/refusal.h"

namespace palimpsest::engine {

struct SentenceSettings {
    std::optional<int32_t> longest; // tokens of a text, special ones included; >= 3
    bool lowercases = false;        // texts, before the tokenizer sees them
};

// Throws Error (PAL-MODEL-C1, C3).
SentenceSettings parse_sentence_settings(std::string_view text, const Refusal& refuse);

// Refuses any pooling but the mean of all tokens: an embedding of another one would be meaningless. Throws Error
// (PAL-MODEL-C1, C3 and C6).
void check_pooling(std::string_view text, const Refusal& refuse);

} // namespace palimpsest::engine
