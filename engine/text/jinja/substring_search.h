// Substring search in linear time for any input (Knuth, Morris, Pratt 1977, "Fast Pattern Matching in Strings").
// The standard library's search takes the product of both lengths at worst.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "engine/text/jinja/meter.h"

namespace palimpsest::engine::jinja {

// `wanted` must outlive the object. The constructor charges the meter for `wanted`; callers charge it for the
// searched text.
class SubstringSearch {
public:
    enum class Direction { Forward, Backward };

    SubstringSearch(std::string_view wanted, Meter& meter, Direction direction = Direction::Forward);

    // Forward: the first match at or after `from`, or npos. REQUIRES: from <= text.size().
    size_t first(std::string_view text, size_t from = 0) const;
    // Backward: the last match, or npos.
    size_t last(std::string_view text) const;

private:
    char wanted_at(size_t i) const { return is_backward_ ? wanted_[wanted_.size() - 1 - i] : wanted_[i]; }
    // The number of bytes of `wanted` that match after another byte of text, if `matched` bytes matched before it.
    size_t next(size_t matched, char byte) const;

    std::string_view wanted_;
    bool is_backward_;
    std::vector<uint32_t> borders_; // [i] the longest proper prefix of wanted[0, i] that is also its suffix
};

} // namespace palimpsest::engine::jinja
