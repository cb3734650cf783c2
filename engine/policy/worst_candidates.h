// The few candidates of some lists that leave first, found without sorting all of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/policy/selection.h"

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
    // The `count` last of all candidates of the lists, in no order; all, if there are fewer. REQUIRES: shaped
    // scores are there. Cost: one pass over the scores, and little for each of the count.
    std::span<const Candidate> collect(std::span<const ListCut> heads, size_t count);

private:
    void offer(const Candidate& candidate, size_t count);

    std::vector<Candidate> heap_; // the best of them on top
};

} // namespace palimpsest::engine
