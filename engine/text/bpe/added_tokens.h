// Tokens that are matched in text before anything else: user-defined pieces, such as runs of spaces.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/text/subwords/vocabulary.h"

namespace palimpsest::engine {

// Immutable after the last add. Finds the leftmost match, and the longest of several at the same place.
class AddedTokens {
public:
    // The most bytes of one token. Bounds the time of find per byte of text.
    static constexpr size_t longest = 256;
    // The most bytes of all spellings together, shared prefixes counted once. Each takes about 64 bytes of memory.
    static constexpr uint32_t max_bytes = 1u << 20;

    // REQUIRES: 1 to `longest` bytes. Throws Error (Failed, PAL-MODEL-13) beyond `max_bytes`.
    void add(std::string_view text, TokenId id);
    bool empty() const { return nodes_ == 1; }

    struct Place {
        size_t begin = 0, end = 0;
        TokenId id = -1; // -1: no token begins before `begin`; the rest depends on text to come
    };
    // The first token at or after `from`. If there is none, `begin` is the end of the text, or, if more text may
    // follow (not `complete`), the first place where a token may begin. Time: the text's length, times `longest` at
    // worst.
    Place find(std::string_view text, size_t from, bool complete) const;

private:
    static uint64_t edge(uint32_t node, char byte)
    {
        return static_cast<uint64_t>(node) << 8 | static_cast<unsigned char>(byte);
    }

    std::array<bool, 256> begins_{}; // [byte] whether a token begins with it
    std::unordered_map<uint64_t, uint32_t> edges_;
    std::unordered_map<uint32_t, TokenId> ends_; // [node] the token that ends there
    uint32_t nodes_ = 1;
};

} // namespace palimpsest::engine
