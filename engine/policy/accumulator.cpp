#include "engine/policy/accumulator.h"

#include <algorithm>
#include <cassert>

#include "engine/policy/policy.h"

namespace palimpsest::engine {

namespace {

// How much of the past stays: everything without a window, nothing once a chunk fills it, a leak in between.
double fading(int32_t window, int32_t chunk_rows)
{
    if (window == SignalNeeds::all) return 1.0;
    return std::max(0.0, 1.0 - static_cast<double>(chunk_rows) / static_cast<double>(window));
}

} // namespace

void accumulate(int32_t window, int32_t chunk_rows, int32_t group, std::span<const float> columns,
                std::span<double> sum, std::span<double> count)
{
    assert(window >= 1 && chunk_rows >= 1 && group >= 1);
    assert(columns.size() == sum.size() && sum.size() == count.size());
    assert(columns.size() >= static_cast<size_t>(chunk_rows));

    const int32_t rows = std::min(chunk_rows, window);
    const double kept = fading(window, chunk_rows);
    const size_t old = columns.size() - static_cast<size_t>(chunk_rows);
    for (size_t j = 0; j < columns.size(); ++j) {
        // Row r of the chunk sees its own entries up to r, so the i-th of them is seen by chunk_rows - i rows.
        const int32_t visible = j < old ? chunk_rows : chunk_rows - static_cast<int32_t>(j - old);
        sum[j] = kept * sum[j] + static_cast<double>(columns[j]) / group;
        count[j] = kept * count[j] + std::min(rows, visible);
    }
}

void accumulate_moments(int32_t window, int32_t chunk_rows, int32_t group, std::span<const float> sums,
                        std::span<const float> squares, std::span<double> moments)
{
    assert(sums.size() == squares.size() && moments.size() == 2 * sums.size());
    const double kept = fading(window, chunk_rows);
    const auto heads = static_cast<size_t>(group), n = sums.size() / heads;
    for (size_t j = 0; j < n; ++j) {
        for (size_t g = 0; g < heads; ++g) {
            double* moment = moments.data() + (j * heads + g) * 2;
            moment[0] = kept * moment[0] + static_cast<double>(sums[g * n + j]);
            moment[1] = kept * moment[1] + static_cast<double>(squares[g * n + j]);
        }
    }
}

} // namespace palimpsest::engine
