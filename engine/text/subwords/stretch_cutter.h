// Splits text into stretches for encoding, for vocabularies whose pieces may span words.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace palimpsest::engine {

inline constexpr std::string_view space_mark = "\xE2\x96\x81"; // U+2581 represents a space in such vocabularies
inline constexpr size_t longest_stretch = 65536;               // bytes that are encoded at once

// The last position at or before `size` where a character begins; `size` itself if only continuation bytes are
// near. REQUIRES: size < text.size().
size_t character_boundary(std::string_view text, size_t size);

// Returns where to cut a stretch that has no other boundary. Prefers the last run of spaces that begins in the
// second half of the first 65,536 bytes, and cuts before it; otherwise cuts at the last character boundary in these
// bytes. REQUIRES: more than 65,536 bytes.
size_t cut_by_rule(std::string_view text);

// Cuts after a line end, unless some piece of the vocabulary continues it with the byte that follows. A stretch
// that gets too long is cut by cut_by_rule.
class StretchCutter {
public:
    // Notes which bytes follow a line end inside the piece: text is not cut between a line end and such a byte.
    // Call for every piece of the vocabulary, as spelled there, except control pieces, which no text produces.
    void note_piece(std::string_view piece);

    // The length of the next stretch to encode; 0 if more text is needed to know.
    size_t next(std::string_view text, bool at_end) const;

private:
    // [b]: some piece has byte b after a line end
    std::array<bool, 256> line_end_continues_{};
    bool needs_lookahead_ = false; // some element of line_end_continues_ is true
};

} // namespace palimpsest::engine
