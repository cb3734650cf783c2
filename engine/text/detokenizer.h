// Incremental detokenizer: every output is complete UTF-8 and final.
#pragma once

#include <string>

#include "engine/text/tokenizer.h"
#include "engine/text/unicode/utf8.h"

namespace palimpsest::engine {

// The concatenation of all outputs, including finish(), equals the decoding of all ids at once. Control pieces
// produce no text. An incomplete or invalid sequence of byte pieces becomes U+FFFD.
class IncrementalDetokenizer {
public:
    // `stream_start`: the first text piece carries the dummy prefix, whose space is not part of the text.
    // The tokenizer must outlive this.
    IncrementalDetokenizer(const Tokenizer& tokenizer, bool stream_start);

    // REQUIRES: 0 <= id < tokenizer.size().
    std::string push(TokenId id);
    std::string finish();

private:
    const Tokenizer* tokenizer_;
    bool drop_space_;
    Utf8Decoder decoder_;
};

} // namespace palimpsest::engine
