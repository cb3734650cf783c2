// Which ranks of one list stay, for policies that look at the whole list at once (policies.md, 4.3 to 4.16).
#pragma once

#include <vector>

#include "tests/support/reference_settings.h"

namespace palimpsest::tests {

// Candidates are what lies between sinks and recent window; `score` has one value for each of them, and the
// answers are ascending indices into it.

// hbw-kv's blocks in groups (4.11): exactly min(slots, candidates).
std::vector<int> choose_blocks(const ReferenceSettings& settings, const std::vector<double>& score, int slots);

// hbw-kv's other ways of keeping one of every block; `blocks` are [first, last) beside what stays of each.
struct Representative {
    int first = 0, last = 0, stays = 0;
};
std::vector<Representative> choose_representatives(const ReferenceSettings& settings,
                                                   const std::vector<double>& score, int slots);

// refreekv (4.12): the ranks of a list that stay, ascending: as many of the order as the norms ask for, with the
// ends and the floor at least and the cap at most, and `more`.
std::vector<int> choose_by_norm(const ReferenceSettings& settings, std::vector<int> order, int count, int more = 0);

// twilight-evict (4.16): ranks of a list that stay, c at most, and the best `more` of the others.
std::vector<int> choose_by_mass(const ReferenceSettings& settings, const std::vector<double>& score, int more = 0);

} // namespace palimpsest::tests
