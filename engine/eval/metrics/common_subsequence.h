// The longest common subsequence of two sequences.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace palimpsest::engine {

// The lengths for all beginnings: row i, column j for the first i items of `a` and the first j of `b`. Costs the
// product of the lengths in time and memory (4 bytes each).
class CommonSubsequence {
public:
    template<class Sequence>
    CommonSubsequence(const Sequence& a, const Sequence& b) : columns_(b.size() + 1)
    {
        lengths_.assign((a.size() + 1) * columns_, 0);
        for (size_t i = 1; i <= a.size(); ++i)
            for (size_t j = 1; j <= b.size(); ++j)
                lengths_[i * columns_ + j] =
                    a[i - 1] == b[j - 1] ? length(i - 1, j - 1) + 1 : std::max(length(i - 1, j), length(i, j - 1));
    }
    uint32_t length(size_t i, size_t j) const { return lengths_[i * columns_ + j]; }
    uint32_t length() const { return lengths_.back(); }

private:
    size_t columns_;
    std::vector<uint32_t> lengths_;
};

} // namespace palimpsest::engine
