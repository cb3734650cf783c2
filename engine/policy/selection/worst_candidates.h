// Finds the few worst candidates of some lists without sorting all of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/policy/selection/selection.h"

namespace palimpsest::engine {

// Order of candidates, best first: score, then the lower head, then the lower entry.
struct Candidate {
    double score;
    uint32_t head, entry;

    bool operator<(const Candidate& other) const
    {
        if (score != other.score) return score > other.score;
        return head != other.head ? head < other.head : entry < other.entry;
    }
};

class WorstCandidates {
public:
    // Returns the `count` worst candidates of all lists, in no order; all candidates if there are fewer. REQUIRES:
    // shaped scores. Cost: one pass over the scores, plus O(log count) per candidate that enters the heap.
    std::span<const Candidate> collect(std::span<const ListCut> heads, size_t count);

private:
    void offer(const Candidate& candidate, size_t count);

    std::vector<Candidate> heap_; // the worst candidates so far; the best of them is on top
};

} // namespace palimpsest::engine
