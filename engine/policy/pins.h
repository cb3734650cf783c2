// Pins: tokens chosen by the user that no policy evicts.
//
// A policy sees each list without its pinned entries. P pinned tokens take P of a budget of c, whether they have
// been read yet or not: the policy is made for a budget of c - P, and a list that holds p pinned tokens is cut to c
// - p others. So every list stays within c, and the lists of a layer keep equal lengths.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace palimpsest::engine {

struct TokenRange {
    uint32_t first = 0, last = 0; // stream indices, half-open
    bool operator==(const TokenRange&) const = default;
};

class Pins {
public:
    Pins() = default;
    // Ranges may be in any order and overlap; empty ones are dropped.
    explicit Pins(std::vector<TokenRange> ranges);

    const std::vector<TokenRange>& ranges() const { return ranges_; } // ascending, disjoint
    bool empty() const { return ranges_.empty(); }
    uint64_t tokens() const;
    bool operator==(const Pins&) const = default;

    // Replaces `ranks` by the ranks of the unpinned entries, ascending. REQUIRES: `stream` ascends. Cost: the
    // ranks.
    void unpinned(std::span<const uint32_t> stream, std::vector<uint32_t>& ranks) const;
    // The same for the pinned entries. Cost: the pinned entries, and a binary search per range.
    void pinned(std::span<const uint32_t> stream, std::vector<uint32_t>& ranks) const;

private:
    std::vector<TokenRange> ranges_;
};

} // namespace palimpsest::engine
