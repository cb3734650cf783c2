// One entry of a list takes the mean of several before these leave (policies.md, 4.11, "representative").
#pragma once

#include "engine/cache/kv_cache.h"
#include "engine/model/rope_angles.h"
#include "engine/policy/policy.h"

namespace palimpsest::engine {

// The surviving rank gets the unweighted mean of the keys, raw or rotated, of the values and of what was accumulated.
// Comes between append and eviction of a step of this phase. Ranks are those of the list before anything leaves.
void merge_entries(KvCache& cache, int32_t layer, int32_t head, kernels::Phase phase, const Merge& merge,
                   const RopeAngles& angles, PositionMode positions);

} // namespace palimpsest::engine
