// The WordPiece tokenizer of BERT (Devlin et al. 2019, section 3; Wu et al. 2016, section 4.1): a text is
// normalised and cut into words; each word becomes the longest piece that begins it, the longest piece that goes
// on, and so on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/encoder/bert_normalizer.h"
#include "engine/text/subwords/vocabulary.h"

namespace palimpsest::engine {

struct WordPieceVocabulary {
    struct Hash {
        using is_transparent = void;
        size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
    };
    using Pieces = std::unordered_map<std::string, TokenId, Hash, std::equal_to<>>;

    Pieces starts;                // pieces that begin a word, without the special tokens
    Pieces continuations;         // pieces that continue one, without their "##"
    TokenId unknown = -1;         // of a word that is too long, or that the pieces do not spell
    TokenId begin = -1, end = -1; // the special tokens around every text
    int32_t longest_word = 100;   // characters
    BertNormalization normalization;
};

// Immutable; usable from any thread.
class WordPiece {
public:
    explicit WordPiece(WordPieceVocabulary vocabulary);

    // The ids of a text between the two special tokens: at most `most` (>= 2) in all; what follows is cut off and
    // not read. "[SEP]" in a text is encoded like any other text and does not become the special token, as rule T11
    // in docs/validation.md demands. Each invalid UTF-8 sequence counts as one U+FFFD.
    //
    // Cost: linear in the text that is read; per word, characters times the longest piece.
    std::vector<TokenId> encode(std::string_view text, int32_t most) const;

private:
    class Encoding;

    WordPieceVocabulary vocabulary_;
    size_t longest_piece_ = 0; // characters
};

} // namespace palimpsest::engine
