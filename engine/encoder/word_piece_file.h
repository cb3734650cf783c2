// Reads the WordPiece tokenizer of a BERT encoder from tokenizer.json, which the tokenizers library writes
// (docs/validation.md, E3).
//
// Settings that would change token ids and are not supported are refused by name: an encoder has no other tokenizer
// to fall back on.
#pragma once

#include <cstdint>
#include <string_view>

#include "engine/encoder/word_piece.h"
#include "engine/model/files/refusal.h"

namespace palimpsest::engine {

// `rows`: rows of the word embedding; every id is below. Throws Error (PAL-MODEL-T1, T2, T3 and T7).
WordPieceVocabulary read_word_piece_file(std::string_view text, uint64_t rows, const Refusal& refuse);

} // namespace palimpsest::engine
