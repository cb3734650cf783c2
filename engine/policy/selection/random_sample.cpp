#include "engine/policy/selection/random_sample.h"

#include <algorithm>

#include "engine/policy/split_mix.h"

namespace palimpsest::engine {

void RandomSample::select(int32_t layer, std::span<const ListCut> heads,
                          std::vector<std::vector<uint32_t>>& dropped)
{
    const uint64_t of_layer = split_mix(split_mix(seed_) ^ static_cast<uint64_t>(layer));
    for (size_t h = 0; h < heads.size(); ++h) {
        const ListCut& list = heads[h];
        const uint32_t excess = list.excess();
        if (excess == 0) continue;
        const uint64_t of_list = split_mix(of_layer ^ h);
        places_.clear();
        for (uint32_t entry = list.first(); entry < list.end(); ++entry)
            places_.push_back({split_mix(of_list ^ list.view.list.stream[list.view.rank(entry)]), entry});
        const auto kept = places_.begin() + list.chosen();
        std::nth_element(places_.begin(), kept, places_.end(),
                         [](const Place& a, const Place& b) { return a.order < b.order; });
        for (auto place = kept; place != places_.end(); ++place)
            dropped[h].push_back(place->entry);
        std::sort(dropped[h].begin(), dropped[h].end());
    }
}

} // namespace palimpsest::engine
