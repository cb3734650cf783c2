// Tokens that are found in text as a whole, before anything else: user-defined pieces, such as runs of blanks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/text/vocabulary.h"

namespace palimpsest::engine {

// Immutable. Of several tokens at one place the longest is found; places are searched from left to right.
class AddedTokens {
public:
    // Bounds the time of find.
    static constexpr size_t longest = 256;
    // Bounds the memory, to about 64 bytes for each: bytes of all spellings, a common beginning counted once.
    static constexpr uint32_t most_bytes = 1u << 20;

    // REQUIRES: 1 to `longest` bytes. Throws Error (Failed, PAL-MODEL-13) beyond `most_bytes`.
    void add(std::string_view text, TokenId id);
    bool empty() const { return nodes_ == 1; }

    struct Place {
        size_t begin = 0, end = 0;
        TokenId id = -1; // -1: there is none up to `begin`; what follows is undecided until more text is known
    };
    // The first token at or after `from`. Without one, `begin` is the end of the text, or of what is certain if the
    // text is not `complete`. Time: the text's length, times `longest` at worst.
    Place find(std::string_view text, size_t from, bool complete) const;

private:
    static uint64_t edge(uint32_t node, char byte)
    {
        return static_cast<uint64_t>(node) << 8 | static_cast<unsigned char>(byte);
    }

    std::array<bool, 256> begins_{}; // [byte]: some token begins with it
    std::unordered_map<uint64_t, uint32_t> edges_;
    std::unordered_map<uint32_t, TokenId> ends_; // [node]
    uint32_t nodes_ = 1;
};

} // namespace palimpsest::engine
