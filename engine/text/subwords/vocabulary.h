// The parts of a model file that define its tokenizer and chat template, as read and validated by engine/model.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace palimpsest::engine {

using TokenId = int32_t;

// Two adjacent pieces that merge into one.
struct PieceMerge {
    TokenId left = -1, right = -1, result = -1;
};

struct Vocabulary {
    enum class Kind {
        None,      // a model folder without a tokenizer: only token ids
        SpmPieces, // pieces, scores and types of a GGUF's sentencepiece vocabulary
        SpmModel,  // the bytes of a tokenizer.model
        Bpe,       // pieces, types and merges (engine/text/bpe)
    };
    Kind kind = Kind::None;

    // SpmPieces and Bpe. `types` as in sentencepiece: 1 normal, 2 unknown, 3 control, 4 user defined (matched in
    // text as a whole), 5 unused, 6 byte. Bpe only: 7, as 4, but including the white space after it.
    std::vector<std::string> pieces;
    std::vector<int32_t> types;
    bool add_space_prefix = true;
    // Only SpmPieces.
    std::vector<float> scores;
    // Only Bpe.
    enum class Alphabet {
        Bytes,      // pieces spell bytes with the 256 characters of GPT-2 (engine/text/bpe/byte_alphabet.h)
        Characters, // pieces spell characters, with U+2581 for spaces; byte pieces encode all others
    };
    Alphabet alphabet = Alphabet::Bytes;
    std::vector<PieceMerge> merges;    // by descending priority
    std::string pre_tokenizer;         // a name from engine/text/bpe/pre_tokenizer.h; may be empty for Characters
    bool ignore_merges = false;        // a pre-token that is a piece becomes that piece, regardless of merges
    bool fuse_unknown = false;         // a run of unknown characters becomes one unknown token
    bool prefix_spares_spaces = false; // no space prefix for text that begins with a space
    // Only SpmModel.
    std::string model;

    // -1: the model has none.
    TokenId bos = -1, eos = -1, eot = -1, unknown = -1;
    std::vector<TokenId> other_ends; // further tokens that end an answer
    bool add_bos = false;
    std::string chat_template; // Jinja source; empty: none
    std::string normalizer;    // mapping applied to text before encoding (engine/text/normalizer.h); empty: none
};

} // namespace palimpsest::engine
