#include "engine/policy/signals/accumulator.h"

#include <algorithm>
#include <cassert>

#include "engine/policy/policy.h"
#include "engine/policy/signals/score_loops.h"

namespace palimpsest::engine {

double decay(int32_t window, int32_t chunk_rows)
{
    if (window == SignalNeeds::all) return 1.0;
    return std::max(0.0, 1.0 - static_cast<double>(chunk_rows) / static_cast<double>(window));
}

void accumulate(int32_t window, int32_t chunk_rows, int32_t group, std::span<const float> columns,
                std::span<double> sum, std::span<double> count)
{
    assert(window >= 1 && chunk_rows >= 1 && group >= 1);
    assert(columns.size() == sum.size() && sum.size() == count.size());
    assert(columns.size() >= static_cast<size_t>(chunk_rows));

    const int32_t rows = std::min(chunk_rows, window);
    const double kept = decay(window, chunk_rows);
    const size_t n = columns.size(), old = n - static_cast<size_t>(chunk_rows);
    decay_and_add(kept, columns, group, sum);
    decay_and_add(kept, rows, count.first(old));
    // Row r of the chunk sees the chunk's entries 0 to r, so chunk_rows - i rows see entry i.
    for (size_t j = old; j < n; ++j)
        count[j] = kept * count[j] + std::min(rows, chunk_rows - static_cast<int32_t>(j - old));
}

void accumulate_moments(int32_t window, int32_t chunk_rows, int32_t group, std::span<const float> sums,
                        std::span<const float> squares, std::span<double> moments)
{
    assert(sums.size() == squares.size() && moments.size() == 2 * sums.size());
    const double kept = decay(window, chunk_rows);
    const auto heads = static_cast<size_t>(group), n = sums.size() / heads;
    double* moment = moments.data();
    for (size_t j = 0; j < n; ++j)
        for (size_t at = j; at < heads * n; at += n, moment += 2) {
            moment[0] = kept * moment[0] + static_cast<double>(sums.data()[at]);
            moment[1] = kept * moment[1] + static_cast<double>(squares.data()[at]);
        }
}

} // namespace palimpsest::engine
