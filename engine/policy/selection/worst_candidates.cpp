#include "engine/policy/selection/worst_candidates.h"

#include <algorithm>
#include <limits>

#include "engine/policy/signals/score_loops.h"

namespace palimpsest::engine {

namespace {

constexpr auto worse = [](const Candidate& a, const Candidate& b) { return b < a; };

} // namespace

void WorstCandidates::offer(const Candidate& candidate, size_t count)
{
    if (heap_.size() == count) {
        if (candidate < heap_.front()) return;
        std::pop_heap(heap_.begin(), heap_.end(), worse);
        heap_.pop_back();
    }
    heap_.push_back(candidate);
    std::push_heap(heap_.begin(), heap_.end(), worse);
}

std::span<const Candidate> WorstCandidates::collect(std::span<const ListCut> heads, size_t count)
{
    heap_.clear();
    const auto bound = [&] {
        return heap_.size() < count ? std::numeric_limits<double>::infinity() : heap_.front().score;
    };
    for (uint32_t h = 0; h < heads.size() && count > 0; ++h) {
        const double* scores = heads[h].shaped.data();
        const size_t end = heads[h].end();
        for (size_t entry = next_not_above(scores, heads[h].first(), end, bound()); entry < end;
             entry = next_not_above(scores, entry + 1, end, bound()))
            offer({scores[entry], h, static_cast<uint32_t>(entry)}, count);
    }
    return heap_;
}

} // namespace palimpsest::engine
