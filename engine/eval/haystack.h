// A text of a given length in tokens with sentences put into it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/policy/pins.h"
#include "engine/text/tokenizer.h"

namespace palimpsest::engine {

struct Insertion {
    std::vector<TokenId> tokens;
    double depth = 0; // of the text before it, as a share: 0 its begin, 1 its end
};

struct Haystack {
    std::vector<TokenId> tokens;
    std::vector<TokenRange> inserted; // in `tokens`, in the order of the insertions
};

// The first tokens of `text` with the insertions, `length` tokens together. Each is put at the end of the last
// sentence before its depth (Kamradt 2023), or at the begin of the text; if neither is in the 256 tokens before it,
// there, but within no character. The first `fixed` tokens, such as BOS, stay before all of them. Insertions at one
// place keep their order. REQUIRES: depths in [0, 1]; text and insertions have `length` tokens or more, and the
// insertions and `fixed` fewer.
Haystack make_haystack(const Tokenizer& tokenizer, std::span<const TokenId> text, size_t fixed, size_t length,
                       std::span<const Insertion> insertions);

} // namespace palimpsest::engine
