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

private:
    size_t columns_;
    std::vector<uint32_t> lengths_;
};

// The length alone, in memory for one row.
template<class Sequence>
uint32_t common_length(const Sequence& a, const Sequence& b)
{
    std::vector<uint32_t> row(b.size() + 1);
    for (const auto& item : a) {
        uint32_t diagonal = 0; // of the row before
        for (size_t j = 1; j <= b.size(); ++j) {
            const uint32_t above = row[j];
            row[j] = item == b[j - 1] ? diagonal + 1 : std::max(above, row[j - 1]);
            diagonal = above;
        }
    }
    return row.back();
}

} // namespace palimpsest::engine
