// Replaces one entry of a list by the mean of several before the others are evicted (docs/policies-spec.md, hbw-kv,
// option `representative`).
#pragma once

#include "engine/cache/host_lists.h"
#include "engine/cache/kv_cache.h"
#include "engine/model/forward/rope_angles.h"
#include "engine/policy/policy.h"

namespace palimpsest::engine {

// The surviving rank gets the unweighted mean of the keys (raw or rotated), values and statistics. Call it between
// append and eviction of a step of this phase. Ranks are those before the eviction.
void merge_entries(KvCache& cache, HostLists& lists, int32_t layer, int32_t head, kernels::Phase phase,
                   const Merge& merge, const RopeAngles& angles, PositionMode positions);

} // namespace palimpsest::engine
