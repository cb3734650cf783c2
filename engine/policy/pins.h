// Tokens that no policy evicts, chosen by the user: with the sinks and the recent window, axis E.
//
// Pinned entries are invisible to a policy: it sees a list without them. P pinned tokens take P of a budget of c,
// whether they were read yet or not: a policy's own slots are those of a budget of c - P, and a list that holds p
// of them goes back to c - p others. So every list stays within c, and lists of a layer stay equally long.
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
    // In any order, overlapping or not; empty ones are left out.
    explicit Pins(std::vector<TokenRange> ranges);

    const std::vector<TokenRange>& ranges() const { return ranges_; } // ascending, apart
    bool empty() const { return ranges_.empty(); }
    uint64_t tokens() const;
    bool operator==(const Pins&) const = default;

    // Replaces `ranks` with those of the entries that are not pinned, ascending. `stream` ascends. Cost: the ranks.
    void unpinned(std::span<const uint32_t> stream, std::vector<uint32_t>& ranks) const;
    // The same of those that are. Cost: the pins, and a search for each range.
    void pinned(std::span<const uint32_t> stream, std::vector<uint32_t>& ranks) const;

private:
    std::vector<TokenRange> ranges_;
};

} // namespace palimpsest::engine
