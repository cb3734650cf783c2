// sentencepiece models as bytes: written from a GGUF's vocabulary, and checked before the library sees them.
//
// The field numbers are those of sentencepiece_model.proto (github.com/google/sentencepiece).
#pragma once

#include <string>
#include <string_view>

#include "engine/text/vocabulary.h"

namespace palimpsest::engine {

// A serialised ModelProto of a vocabulary's pieces, scores and types (Kind::SpmPieces): BPE, byte fallback if there
// are byte pieces, no change to the text beyond the dummy prefix, if `add_space_prefix` says so.
std::string sentencepiece_model(const Vocabulary& vocabulary);

// What a serialised model says, read with bounds (reliability.md, T9). Throws Error (Failed, PAL-MODEL-13) for
// damaged bytes and for models that change text in ways that cannot be undone piece by piece: a character map,
// removed spaces, spaces as suffixes, or a model type other than BPE and unigram.
struct SentencepieceTraits {
    bool add_dummy_prefix = true;
    bool byte_fallback = false;
    std::string unknown_surface = " \xE2\x81\x87 "; // what an unknown piece reads as
};
SentencepieceTraits check_sentencepiece_model(std::string_view model);

// The same model without a dummy prefix, for text that continues a stream. Protobuf merges a message that comes
// twice, so this appends a few bytes.
std::string without_dummy_prefix(std::string_view model);

} // namespace palimpsest::engine
