// The parameters that treekv and treekv-log share.
#pragma once

#include <memory>
#include <vector>

#include "engine/policy/named/budget_parameters.h"
#include "engine/policy/named/parameters.h"
#include "engine/policy/policy.h"
#include "engine/policy/protect.h"
#include "engine/policy/selection/tile_rule.h"
#include "engine/policy/selection/tile_selection.h"
#include "engine/policy/signals/score.h"

namespace palimpsest::engine {

struct TreeParameters {
    ProtectedEnds ends;
    Signal signal; // none with rule=left
    std::shared_ptr<const TileRule> tile_rule;
    std::unique_ptr<Budget> budget;

    SchedulePer schedules() const { return budget->heads_alike() ? SchedulePer::PerLayer : SchedulePer::PerList; }
    size_t lists(const PolicyContext& context) const; // number of tile schedules
    int32_t most_slots(const PolicyContext& context) const;
};

inline constexpr const char* treekv_title = "TreeKV: Smooth Key-Value Cache Compression with Tree Structures";
Text signals_of_tree();
Text cost_of_tree();
std::vector<ParameterInfo> tree_parameter_infos();

// `constant_budget`: true if a profile over layers must not be fitted to the text. Throws Error (Usage) if a value
// is bad or no slot is left between sinks and recent.
TreeParameters read_tree_parameters(PolicyParameters& parameters, const PolicyContext& context,
                                    bool constant_budget = false);

} // namespace palimpsest::engine
