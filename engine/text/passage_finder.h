// Finds the tokens of a stream that contain a passage. Any white space matches as one space, so that lines may be
// broken differently; everything else must match exactly.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/policy/pins.h"
#include "engine/text/detokenizer.h"

namespace palimpsest::engine {

// Memory: proportional to the passage. Cost: linear in the text (Knuth, Morris, Pratt).
class PassageFinder {
public:
    // Encodes the passage and decodes it again, as happens to the stream's text, so that both are spelled alike.
    // Throws Error (Usage, PAL-PIN-02) if it is blank. The tokenizer must outlive this.
    PassageFinder(const Tokenizer& tokenizer, std::string_view passage);

    void push(TokenId id);      // the next token of the stream
    void skip(uint64_t tokens); // passes over tokens of the stream; no match spans them

    // The first match, as indices of pushed and skipped tokens: all tokens that contribute a character to it.
    const std::optional<TokenRange>& found() const { return found_; }
    uint64_t matches() const { return matches_; }

private:
    void take(char c);
    void step(char c);

    IncrementalDetokenizer detokenizer_;
    std::string pattern_;
    std::vector<size_t> failure_;  // [pattern] the longest border of each prefix
    std::vector<uint32_t> owners_; // [pattern] ring buffer: the token of each of the last characters
    size_t matched_ = 0;
    uint64_t characters_ = 0;
    uint32_t tokens_ = 0, text_begin_ = 0; // number of tokens so far; first token whose text is not complete
    bool after_space_ = true;
    uint64_t matches_ = 0;
    std::optional<TokenRange> found_;
};

} // namespace palimpsest::engine
