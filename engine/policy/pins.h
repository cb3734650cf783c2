// Pins: tokens chosen by the user that no policy evicts.
//
// A policy sees each list without its pinned entries. P pinned tokens take P slots of a budget of c, even before
// they are read: the policy is made for a budget of c - P. A list that holds p pinned tokens keeps at most c - p
// others, because the slots of missing pins are free for them. So every list stays within c, and the lists of a
// layer keep equal lengths.
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

    // Replaces `ranks` by the ranks of the unpinned entries, ascending. REQUIRES: `stream` ascends. Cost: linear in
    // the list.
    void unpinned(std::span<const uint32_t> stream, std::vector<uint32_t>& ranks) const;
    // Replaces `ranks` by the ranks of the pinned entries. Cost: linear in these, and a binary search per range.
    void pinned(std::span<const uint32_t> stream, std::vector<uint32_t>& ranks) const;

private:
    std::vector<TokenRange> ranges_;
};

} // namespace palimpsest::engine
