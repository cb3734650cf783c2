// Encodes a document of any length, in pieces as they arrive: the model's normalisation, then its tokenizer.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/text/normalizer.h"
#include "engine/text/tokenizer.h"

namespace palimpsest::engine {

// The tokens' ranges, in bytes of the pushed text, cover it in order and without gaps. Ids do not depend on how the
// document is split into pushes. Memory: one push, and at most 64 KiB of text whose tokens are not final.
class DocumentEncoder {
public:
    // `first_piece` as in Tokenizer::encode. The tokenizer must outlive this.
    DocumentEncoder(const Tokenizer& tokenizer, bool first_piece);

    // Appends the tokens that are final. The text should be clean (Utf8Cleaner).
    void push(std::string_view bytes, std::vector<EncodedToken>& out);
    void finish(std::vector<EncodedToken>& out);
    // Bytes pushed so far.
    uint64_t source_bytes() const { return source_bytes_; }

private:
    void encode_pending(bool at_end, std::vector<EncodedToken>& out);

    const Tokenizer& tokenizer_;
    Normalizer normalizer_;
    OffsetMap map_;
    bool first_piece_;
    std::string pending_;        // normalised text that is not encoded yet
    uint64_t pending_begin_ = 0; // its position in the normalised text
    uint64_t source_bytes_ = 0;
    uint64_t last_end_ = 0;          // in the source
    std::vector<EncodedToken> held_; // the last token, which later text may still extend
};

} // namespace palimpsest::engine
