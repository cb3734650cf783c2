// Finds a passage in a stream of tokens: which of them carry its text. White space of any kind and length is one
// space, so that lines may be broken elsewhere; everything else must be as written.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/policy/pins.h"
#include "engine/text/detokenizer.h"

namespace palimpsest::engine {

// Memory: the passage. Cost: linear in the text (Knuth, Morris, Pratt).
class PassageFinder {
public:
    // The passage goes through the tokenizer and back, as the text did. Throws Error (Usage, PAL-PIN-02) for one
    // that is blank. The tokenizer must outlive this.
    PassageFinder(const Tokenizer& tokenizer, std::string_view passage);

    void push(TokenId id);      // the next token of the stream
    void skip(uint64_t tokens); // of the stream: no passage reaches across them

    // Of the first match, as indices into what was pushed: every token that carries a character of it.
    const std::optional<TokenRange>& found() const { return found_; }
    uint64_t matches() const { return matches_; }

private:
    void take(char c);
    void step(char c);

    IncrementalDetokenizer detokenizer_;
    std::string pattern_;
    std::vector<size_t> failure_;  // [pattern]: the longest border of each prefix
    std::vector<uint32_t> owners_; // [pattern], a ring: the token of each of the last characters
    size_t matched_ = 0;
    uint64_t characters_ = 0;
    uint32_t tokens_ = 0, text_begin_ = 0; // pushed; the first whose text was not complete before
    bool after_space_ = true;
    uint64_t matches_ = 0;
    std::optional<TokenRange> found_;
};

} // namespace palimpsest::engine
