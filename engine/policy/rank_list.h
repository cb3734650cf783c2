// The ranks of one list in a chain, so that removing an entry anywhere does not move the others.
#pragma once

#include <cstdint>
#include <numeric>
#include <vector>

namespace palimpsest::engine {

class RankList {
public:
    explicit RankList(uint32_t size) : next_(size) { std::iota(next_.begin(), next_.end(), 1u); }

    // The list's size follows its last rank.
    uint32_t next(uint32_t rank) const { return next_[rank]; }
    // Removes all ranks between `left` and `right`, which may be the list's size.
    void join(uint32_t left, uint32_t right) { next_[left] = right; }

private:
    std::vector<uint32_t> next_;
};

} // namespace palimpsest::engine
