// Serialised sentencepiece models: written from a GGUF's vocabulary, and checked before the library reads them.
//
// The field numbers are those of sentencepiece_model.proto (github.com/google/sentencepiece).
#pragma once

#include <string>
#include <string_view>

#include "engine/text/subwords/vocabulary.h"

namespace palimpsest::engine {

// Serialises a vocabulary's pieces, scores and types (Kind::SpmPieces) as a ModelProto: BPE, with byte fallback if
// there are byte pieces. Text is not changed, except by the dummy prefix if `add_space_prefix` is set.
std::string sentencepiece_model(const Vocabulary& vocabulary);

// Properties of a serialised model, parsed with bounds checks (docs/validation.md, T9). Throws Error (Failed,
// PAL-MODEL-13) for damaged bytes and for models that change text in ways that cannot be undone piece by piece: a
// character map, removed spaces, spaces as suffixes, or a model type other than BPE and unigram.
struct SentencepieceTraits {
    bool add_dummy_prefix = true;
    bool byte_fallback = false;
    std::string unknown_surface = " \xE2\x81\x87 "; // the text of an unknown piece
};
SentencepieceTraits check_sentencepiece_model(std::string_view model);

// The same model without a dummy prefix, for text that continues a stream. Protobuf merges repeated messages, so
// this only appends a few bytes.
std::string without_dummy_prefix(std::string_view model);

} // namespace palimpsest::engine
