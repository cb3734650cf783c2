// Selects the ranks that one list keeps, for policies that rank the whole list (docs/policies-spec.md).
#pragma once

#include <cstdint>
#include <vector>

#include "tests/support/reference_settings.h"

namespace palimpsest::tests {

// Candidates are the entries between sinks and recent tokens; `score` has one value per candidate. Results are
// ascending indices into `score`.

// random: the place of a token in the random order of its list, the lowest first; and the `slots` candidates with
// the lowest places, given the stream index of each.
uint64_t random_place(uint64_t seed, int layer, int head, uint32_t stream);
std::vector<int> choose_randomly(uint64_t seed, int layer, int head, const std::vector<uint32_t>& streams,
                                 int slots);

// hbw-kv and chunkkv, blocks in groups. Chooses exactly min(slots, candidates).
std::vector<int> choose_blocks(const ReferenceSettings& settings, const std::vector<double>& score, int slots);

// hbw-kv, one representative per block: of [first, last), only `stays` is kept.
struct Representative {
    int first = 0, last = 0, stays = 0;
};
std::vector<Representative> choose_representatives(const ReferenceSettings& settings,
                                                   const std::vector<double>& score, int slots);

// refreekv: the ranks to keep, ascending. Takes the first `count` of `order`, but no fewer than sinks, recent
// tokens and the floor, and no more than the budget; then the next `more`.
std::vector<int> choose_by_norm(const ReferenceSettings& settings, std::vector<int> order, int count, int more = 0);

// twilight-evict: the ranks to keep, at most c, and then the best `more` of the others.
std::vector<int> choose_by_mass(const ReferenceSettings& settings, const std::vector<double>& score, int more = 0);

} // namespace palimpsest::tests
