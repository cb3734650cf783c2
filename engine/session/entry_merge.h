// Replaces one entry of a list by the mean of several before the others are evicted (docs/policies-spec.md, hbw-kv,
// option `representative`).
#pragma once

#include "engine/cache/host_lists.h"
#include "engine/cache/kv_cache.h"
#include "engine/model/forward/rope_angles.h"
#include "engine/policy/policy.h"

namespace palimpsest::engine {

// The kept rank gets the unweighted mean of the keys (raw or rotated), values and statistics. Ranks are those
// before the eviction. REQUIRES: the step's tokens are appended and nothing is evicted yet; `phase` is the phase of
// the step.
void merge_entries(KvCache& cache, HostLists& lists, int32_t layer, int32_t head, kernels::Phase phase,
                   const Merge& merge, const RopeAngles& angles, PositionMode positions);

} // namespace palimpsest::engine
