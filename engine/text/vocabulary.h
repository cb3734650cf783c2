// What a tokenizer and a chat template are made from, as read and validated by engine/model (reliability.md, G13,
// T).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace palimpsest::engine {

using TokenId = int32_t;

struct Vocabulary {
    enum class Kind {
        None,      // a model folder without a tokenizer: token ids only
        SpmPieces, // pieces, scores and types of a GGUF's sentencepiece vocabulary
        SpmModel,  // the bytes of a tokenizer.model
    };
    Kind kind = Kind::None;

    // SpmPieces. `types` as sentencepiece numbers them: 1 normal, 2 unknown, 3 control, 4 user defined, 5 unused, 6
    // byte.
    std::vector<std::string> pieces;
    std::vector<float> scores;
    std::vector<int32_t> types;
    bool add_space_prefix = true;
    // SpmModel.
    std::string model;

    // -1: the model has none.
    TokenId bos = -1, eos = -1, eot = -1, unknown = -1;
    bool add_bos = false;
    std::string chat_template; // Jinja source, empty: none
    std::string normalizer;    // "books-1": the mapping of the default model's training text; empty: none
};

} // namespace palimpsest::engine
