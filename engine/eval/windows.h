// Windows of a text that are read anew, each by a session of its own, as perplexities of models are published: each
// begins `stride` tokens after the one before, and a token is judged once, in the first window that holds it.
#pragma once

#include <cstdint>
#include <vector>

namespace palimpsest::engine {

struct Window {
    uint64_t begin = 0, end = 0; // tokens of the text
    uint64_t judged = 0;         // the tokens from here on are judged; those before are their context
    bool operator==(const Window&) const = default;
};

// The last window ends with the text. REQUIRES: 1 <= stride <= length.
std::vector<Window> windows_of(uint64_t tokens, uint64_t length, uint64_t stride);

} // namespace palimpsest::engine
