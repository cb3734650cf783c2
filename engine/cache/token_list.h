// Which tokens one (layer, KV head) list holds, in rank order, with what the policy has accumulated about each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace palimpsest::engine {

struct TokenList {
    std::vector<uint32_t> stream; // [n] stream indices, ascending
    std::vector<double> sum;      // [n] attention received; empty for a policy without signals
    std::vector<double> count;    // [n] queries counted in it
    std::vector<double> moments;  // [n, group, 2] SignalNeeds::head_moments, or empty

    size_t size() const { return stream.size(); }

    // Appends `rows` new tokens with nothing accumulated yet.
    void append(uint32_t first, int32_t rows, bool with_signals);
    void truncate(size_t size);
    // Removes ranks, ascending and distinct; one pass from the first of them on.
    void drop(std::span<const uint32_t> ranks);
    size_t allocated_bytes() const;
};

} // namespace palimpsest::engine
