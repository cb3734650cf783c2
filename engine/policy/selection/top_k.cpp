#include "engine/policy/selection/top_k.h"

#include <numeric>

#include "engine/policy/signals/score_loops.h"

namespace palimpsest::engine {

void best_first(std::vector<uint32_t>& entries, size_t k, std::span<const double> scores)
{
    if (k >= entries.size()) return;
    std::nth_element(
        entries.begin(), entries.begin() + static_cast<std::ptrdiff_t>(k), entries.end(),
        [&](uint32_t a, uint32_t b) { return scores[a] != scores[b] ? scores[a] > scores[b] : a < b; });
}

void TopK::drop_worst(const ListCut& list, std::vector<uint32_t>& dropped)
{
    constexpr uint32_t few = 8; // so few evicted entries are found faster than the kept ones
    const uint32_t excess = list.excess();
    if (excess == 1) {
        dropped.push_back(static_cast<uint32_t>(last_lowest(list.shaped.data(), list.first(), list.end())));
    } else if (excess <= few) {
        for (const Candidate& candidate : worst_.collect({&list, 1}, excess))
            dropped.push_back(candidate.entry);
    } else {
        entries_.resize(list.candidates());
        std::iota(entries_.begin(), entries_.end(), list.first());
        best_first(entries_, list.chosen(), list.shaped);
        dropped.assign(entries_.begin() + list.chosen(), entries_.end());
    }
    std::sort(dropped.begin(), dropped.end());
}

void TopK::select(int32_t, std::span<const ListCut> heads, std::vector<std::vector<uint32_t>>& dropped)
{
    for (size_t h = 0; h < heads.size(); ++h)
        if (heads[h].excess() > 0) drop_worst(heads[h], dropped[h]);
}

void TopK::plan(int32_t, std::span<const ListCut> heads, EvictionPlan& plan)
{
    for (size_t h = 0; h < heads.size(); ++h) {
        kernels::ListPlan& list = plan.list(h);
        list.evicted = heads[h].excess();
        list.first = heads[h].first();
        list.end = heads[h].end();
    }
}

void NestedTopK::select(int32_t layer, std::span<const ListCut> heads, std::vector<std::vector<uint32_t>>& dropped)
{
    below_.resize(heads.size());
    for (size_t h = 0; h < heads.size(); ++h)
        choose(heads[h], layer > 0, below_[h], dropped[h]);
}

void NestedTopK::choose(const ListCut& list, bool nested, std::vector<uint32_t>& below,
                        std::vector<uint32_t>& dropped)
{
    const auto stream = [&](uint32_t entry) { return list.view.list.stream[list.view.rank(entry)]; };
    entries_.clear();
    for (uint32_t entry = list.first(); entry < list.end(); ++entry) {
        if (nested && !std::binary_search(below.begin(), below.end(), stream(entry)))
            dropped.push_back(entry);
        else
            entries_.push_back(entry);
    }
    const uint32_t ends = list.size() - list.candidates();
    const size_t k = list.budget > ends ? list.budget - ends : 0;
    best_first(entries_, k, list.shaped);
    if (k < entries_.size())
        dropped.insert(dropped.end(), entries_.begin() + static_cast<std::ptrdiff_t>(k), entries_.end());
    std::sort(dropped.begin(), dropped.end());

    below.clear();
    for (uint32_t entry = 0, gone = 0; entry < list.size(); ++entry) {
        if (gone < dropped.size() && dropped[gone] == entry)
            ++gone;
        else
            below.push_back(stream(entry));
    }
}

} // namespace palimpsest::engine
