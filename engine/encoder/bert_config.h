// The sizes of a BERT encoder (Devlin et al. 2019), read from its config.json. Rule E2 in docs/validation.md says
// which values are refused.
#pragma once

#include <cstdint>
#include <string_view>

#include "engine/model/files/refusal.h"

namespace palimpsest::engine {

struct BertConfig {
    int32_t layers = 0;
    int32_t width = 0; // of a token's hidden state
    int32_t heads = 0; // divides width
    int32_t ffn = 0;
    int32_t vocabulary = 0; // rows of the word embedding
    int32_t positions = 0;  // rows of the position embedding: tokens of the longest text
    int32_t types = 0;      // rows of the token type embedding; a single text has type 0
    float epsilon = 0;      // of the layer norms

    int32_t head_dim() const { return width / heads; }
};

// Throws Error with the code of the rule that is broken: PAL-MODEL-C1 to PAL-MODEL-C6.
BertConfig parse_bert_config(std::string_view text, const Refusal& refuse);

} // namespace palimpsest::engine
