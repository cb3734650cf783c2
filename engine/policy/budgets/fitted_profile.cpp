#include "engine/policy/budgets/fitted_profile.h"

#include <algorithm>

namespace palimpsest::engine {

// A layer gets more than its share of slots if other layers have too few candidates to use theirs: all slots at
// most.
int32_t FittedProfile::most(int32_t) const
{
    return static_cast<int32_t>(
        std::min<int64_t>(shape_.mean * shape_.layers, std::numeric_limits<int32_t>::max()));
}

int64_t FittedProfile::layer_slots(int32_t layer, const ListCut& longest) const
{
    const bool fits = longest.candidates() <= shape_.mean;
    if (fits || longest.size() <= 2 * shape_.mean) return shape_.mean;
    return layer_profile(shape_.profile, shape_.beta, shape_.layers, shape_.mean,
                         longest.candidates())[static_cast<size_t>(layer)];
}

void FittedProfile::slots(int32_t layer, std::span<const ListCut> heads, std::span<int32_t> result)
{
    const ListCut& longest = *std::ranges::max_element(heads, {}, &ListCut::size);
    std::fill(result.begin(), result.end(), static_cast<int32_t>(layer_slots(layer, longest)));
}

} // namespace palimpsest::engine
