#include "engine/policy/selection/representatives.h"

#include <algorithm>
#include <numeric>

namespace palimpsest::engine {

// The entry of [first, last) to keep.
uint32_t Representatives::kept(const ListCut& list, uint32_t first, uint32_t last) const
{
    switch (kind_) {
    case Representative::First:
        return first;
    case Representative::Last:
        return last - 1;
    case Representative::Average:
        return first + (last - first - 1) / 2;
    case Representative::Max:
        break;
    }
    const auto scores = list.shaped.subspan(first, last - first);
    return first + static_cast<uint32_t>(std::max_element(scores.begin(), scores.end()) - scores.begin());
}

void Representatives::select(int32_t, std::span<const ListCut> heads, std::vector<std::vector<uint32_t>>& dropped)
{
    merges_.assign(heads.size(), {});
    for (size_t h = 0; h < heads.size(); ++h) {
        const ListCut& list = heads[h];
        if (list.excess() == 0) continue;
        const uint64_t candidates = list.candidates(), slots = list.chosen();
        if (slots == 0) {
            dropped[h].resize(candidates);
            std::iota(dropped[h].begin(), dropped[h].end(), list.first());
        }
        for (uint64_t i = 0; i < slots; ++i) {
            const auto first = static_cast<uint32_t>(list.first() + i * candidates / slots);
            const auto last = static_cast<uint32_t>(list.first() + (i + 1) * candidates / slots);
            const uint32_t stays = kept(list, first, last);
            for (uint32_t entry = first; entry < last; ++entry)
                if (entry != stays) dropped[h].push_back(entry);
            if (kind_ != Representative::Average || last - first == 1) continue;
            Merge& merge = merges_[h].emplace_back(Merge{.into = stays, .of = {}, .keys = keys_});
            merge.of.resize(last - first);
            std::iota(merge.of.begin(), merge.of.end(), first);
        }
    }
}

} // namespace palimpsest::engine
