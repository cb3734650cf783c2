// The eviction plan of one layer: what a policy decides before any score is known, in the 32-bit words that a
// backend reads (kernels/eviction.h).
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <span>
#include <vector>

#include "kernels/eviction.h"

namespace palimpsest::engine {

class EvictionPlan {
public:
    // Starts a new plan: one list per size, with nothing to evict.
    void reset(std::span<const uint32_t> sizes)
    {
        lists_.assign(sizes.size(), {});
        for (size_t h = 0; h < sizes.size(); ++h)
            lists_[h].size = sizes[h];
        data_.clear();
    }

    size_t lists() const { return lists_.size(); }
    kernels::ListPlan& list(size_t head) { return lists_[head]; }
    const kernels::ListPlan& list(size_t head) const { return lists_[head]; }
    // Gives list `other` the plan of list `head`, but for its size: it evicts the same entries, or compares entries
    // at the same places.
    void repeat(size_t head, size_t other)
    {
        const uint32_t size = lists_[other].size;
        lists_[other] = lists_[head];
        lists_[other].size = size;
    }
    // Appends data that ListPlan::data or wave_ends may refer to; returns its offset in the plan, in words.
    uint32_t add(std::span<const uint32_t> words)
    {
        const size_t at = data_.size();
        data_.insert(data_.end(), words.begin(), words.end());
        return static_cast<uint32_t>(lists_.size() * words_of_list + at);
    }

    // Like add, with the numbers first, first + 1, and so on.
    uint32_t add_range(uint32_t first, uint32_t count)
    {
        const uint32_t at = add({});
        data_.resize(data_.size() + count);
        std::iota(data_.end() - static_cast<std::ptrdiff_t>(count), data_.end(), first);
        return at;
    }

    int64_t max_evicted() const // maximum over lists
    {
        uint32_t most = 0;
        for (const kernels::ListPlan& list : lists_)
            most = std::max(most, list.evicted);
        return most;
    }
    bool evicts_any() const { return max_evicted() > 0; }
    size_t words() const { return lists_.size() * words_of_list + data_.size(); }
    void write(uint32_t* to) const // [words()]
    {
        std::memcpy(to, lists_.data(), lists_.size() * sizeof(kernels::ListPlan));
        std::copy(data_.begin(), data_.end(), to + lists_.size() * words_of_list);
    }

private:
    static constexpr size_t words_of_list = sizeof(kernels::ListPlan) / sizeof(uint32_t);

    std::vector<kernels::ListPlan> lists_; // [kv_heads]
    std::vector<uint32_t> data_;
};

} // namespace palimpsest::engine
