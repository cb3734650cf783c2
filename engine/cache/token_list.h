// The tokens of one list (layer and KV head) in rank order, with the statistics the policy accumulated for each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace palimpsest::engine {

struct TokenList {
    std::vector<uint32_t> stream; // [n] stream indices, ascending
    std::vector<double> sum;      // [n] as in ListState; empty for a policy without signals
    std::vector<double> count;    // [n] number of queries whose attention is in `sum`
    std::vector<double> moments;  // [n, group, 2] SignalNeeds::head_moments, or empty

    size_t size() const { return stream.size(); }

    // Appends `rows` new tokens with zero statistics; `moments_each`: group * 2, or 0.
    void append(uint32_t first, int32_t rows, bool with_signals, int32_t moments_each = 0);
    void truncate(size_t tokens);
    // Removes ranks, ascending and distinct, in one pass from the first of them on.
    void drop(std::span<const uint32_t> ranks);
    // Copies the values of another list into this one's memory.
    void assign(const TokenList& other);
    void reserve(size_t tokens, bool with_signals, int32_t moments_each);
    size_t allocated_bytes() const;
};

} // namespace palimpsest::engine
