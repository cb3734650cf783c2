// The parameters that treekv and treekv-log share (policies.md, 7).
#pragma once

#include <memory>
#include <vector>

#include "engine/policy/parameters.h"
#include "engine/policy/policy.h"
#include "engine/policy/protect.h"
#include "engine/policy/score.h"
#include "engine/policy/survivors.h"

namespace palimpsest::engine {

struct TreeParameters {
    ProtectedEnds ends;
    int32_t slots = 0;                 // m >= 1, the region between the protected ends
    ScoreKind score = ScoreKind::Mean; // None with rule=left
    std::shared_ptr<const Survivors> survivors;
};

std::vector<ParameterInfo> tree_parameter_infos();

// Throws Error (Usage) if a value is bad or no slot is left between sinks and recent.
TreeParameters read_tree_parameters(PolicyParameters& parameters, const PolicyContext& context);

} // namespace palimpsest::engine
