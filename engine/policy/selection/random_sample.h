// Keeps a uniform random sample of the candidates: the control that shows what scores are worth.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/policy/selection/selection.h"

namespace palimpsest::engine {

// Every token of the stream has a fixed place in a random order of each list (docs/policies-spec.md, Random order);
// the candidates that come last are evicted. What was evicted once would be evicted again, so the kept candidates
// are the first of all tokens that have been candidates: a uniform sample of the stream, whatever its chunks are.
// There is no state. Cost: one hash per candidate.
class RandomSample final : public StatelessSelection<RandomSample> {
public:
    explicit RandomSample(uint32_t seed) : seed_(seed) {}
    void select(int32_t layer, std::span<const ListCut> heads,
                std::vector<std::vector<uint32_t>>& dropped) override;

private:
    struct Place {
        uint64_t order; // larger: evicted earlier
        uint32_t entry;
    };

    uint32_t seed_;
    std::vector<Place> places_; // scratch
};

} // namespace palimpsest::engine
