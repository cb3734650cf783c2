// Reads the WordPiece tokenizer of a BERT encoder from tokenizer.json, which the tokenizers library writes. Rule E3
// in docs/validation.md says what is checked.
//
// Settings that would change token ids and are not supported are refused by name: an encoder has no other tokenizer
// to fall back on.
#pragma once

#include <cstdint>
#include <string_view>

#include "engine/encoder/word_piece.h"
#include "engine/model/files/refusal.h"

namespace palimpsest::engine {

// `rows`: the number of rows of the word embedding; a token whose id is not below it is refused. Throws Error with
// the code of the rule that is broken: PAL-MODEL-T1, PAL-MODEL-T2, PAL-MODEL-T3 or PAL-MODEL-T7.
WordPieceVocabulary read_word_piece_file(std::string_view text, uint64_t rows, const Refusal& refuse);

} // namespace palimpsest::engine
