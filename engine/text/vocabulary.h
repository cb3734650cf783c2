// The parts of a model file from which a tokenizer and a chat template are made, as read and validated by
// engine/model.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace palimpsest::engine {

using TokenId = int32_t;

// Two neighbouring pieces that become one.
struct PieceMerge {
    TokenId left = -1, right = -1, result = -1;
};

struct Vocabulary {
    enum class Kind {
        None,      // a model folder without a tokenizer: token ids only
        SpmPieces, // pieces, scores and types of a GGUF's sentencepiece vocabulary
        SpmModel,  // the bytes of a tokenizer.model
        Bpe,       // pieces, types and merges (engine/text/bpe)
    };
    Kind kind = Kind::None;

    // SpmPieces and Bpe. `types` as sentencepiece numbers them: 1 normal, 2 unknown, 3 control, 4 user defined
    // (found in text as a whole), 5 unused, 6 byte; and 7, as 4 but with the white space after it (Bpe).
    std::vector<std::string> pieces;
    std::vector<int32_t> types;
    bool add_space_prefix = true;
    // SpmPieces.
    std::vector<float> scores;
    // Bpe.
    enum class Alphabet {
        Bytes,      // pieces spell bytes with the 256 characters of GPT-2 (engine/text/bpe/byte_alphabet.h)
        Characters, // pieces spell characters, and spaces as U+2581; byte pieces stand for all others
    };
    Alphabet alphabet = Alphabet::Bytes;
    std::vector<PieceMerge> merges;    // the first is the most preferred
    std::string pre_tokenizer;         // a name of engine/text/bpe/pre_tokenizer.h; Characters may have none
    bool ignore_merges = false;        // a pre-token that is a piece becomes that piece, whatever the merges say
    bool fuse_unknown = false;         // a run of unknown characters is one unknown token
    bool prefix_spares_spaces = false; // no space prefix before text that begins with a space
    // SpmModel.
    std::string model;

    // -1: the model has none.
    TokenId bos = -1, eos = -1, eot = -1, unknown = -1;
    std::vector<TokenId> other_ends; // further tokens that end an answer
    bool add_bos = false;
    std::string chat_template; // Jinja source, empty: none
    std::string normalizer;    // the mapping that text goes through first (engine/text/normalizer.h); empty: none
};

} // namespace palimpsest::engine
