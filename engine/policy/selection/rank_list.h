// The ranks of one list as a linked list, so that removing an entry does not move the others. A schedule reuses it
// in every next_tiles, since reset() costs the number of removals, not the length of the list.
#pragma once

#include <cstdint>
#include <vector>

namespace palimpsest::engine {

class RankList {
public:
    // Restores all ranks of a list of this size.
    void reset(uint32_t size)
    {
        for (const uint32_t rank : joined_)
            next_[rank] = rank + 1;
        joined_.clear();
        for (auto rank = static_cast<uint32_t>(next_.size()); rank < size; ++rank)
            next_.push_back(rank + 1);
    }

    // The rank after `rank`; the list's size after the last one.
    uint32_t next(uint32_t rank) const { return next_[rank]; }
    // Removes all ranks between `left` and `right`; `right` may be the list's size.
    void join(uint32_t left, uint32_t right)
    {
        next_[left] = right;
        joined_.push_back(left);
    }

private:
    std::vector<uint32_t> next_;
    std::vector<uint32_t> joined_; // ranks whose next_ is not rank + 1
};

} // namespace palimpsest::engine
