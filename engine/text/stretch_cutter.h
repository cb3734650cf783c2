// Where text may be cut before it is encoded, for vocabularies whose pieces may span words.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace palimpsest::engine {

inline constexpr std::string_view space_mark = "\xE2\x96\x81"; // U+2581 stands for a space in such vocabularies
inline constexpr size_t longest_stretch = 65536;               // bytes that are encoded at once

// The last place at or before `size` where a character begins; `size` itself in a run of stray continuation bytes.
// REQUIRES: size < text.size().
size_t character_boundary(std::string_view text, size_t size);

// Cuts a stretch that has no other boundary: before the last space that follows another character in the second
// half of its first 65,536 bytes, else at the last character boundary there. REQUIRES: more bytes than that.
size_t cut_by_rule(std::string_view text);

// Cuts after line ends, unless a piece of the vocabulary has characters after a line end, and then only before
// others; a longer stretch is cut by rule.
class StretchCutter {
public:
    // Every piece that can come out of text, as the vocabulary spells it.
    void note_piece(std::string_view piece);

    // The length of what is encoded next, 0 if that is not known yet.
    size_t next(std::string_view text, bool at_end) const;

private:
    // [b]: some piece goes on with byte b after a line end
    std::array<bool, 256> line_end_continues_{};
    bool needs_lookahead_ = false; // any of them
};

} // namespace palimpsest::engine
