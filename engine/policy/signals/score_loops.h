// Vectorised loops over the entries of a list. Results are bit-identical on all SIMD targets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/policy/signals/shaping.h"

namespace palimpsest::engine {

// y = kept y + x / divisor
void decay_and_add(double kept, std::span<const float> x, double divisor, std::span<double> y);
// y = kept y + add
void decay_and_add(double kept, double add, std::span<double> y);
// to = x / by, for to.size() entries
void divide(const double* x, const double* by, std::span<double> to);
// Mean over a group's query heads of mean + gamma * unbiased variance; the variance of fewer than two queries is 0.
// `moments`: [entries, group, 2] sums and sums of squares over count[entry] queries.
void mean_and_variance(const double* moments, const double* count, size_t group, double gamma,
                       std::span<double> to);
// to[i] = pooled from[i - kernel / 2 ... i + kernel / 2] for i in [first, last). REQUIRES: all of these exist.
void pool_inner(Pooling kind, int32_t kernel, const double* from, size_t first, size_t last, double* to);
// Index of the lowest value in [first, last); ties: the last. REQUIRES: first < last, no NaN.
size_t last_lowest(const double* x, size_t first, size_t last);
// Index of the first value in [first, last) that is not above the bound, or last.
size_t next_not_above(const double* x, size_t first, size_t last, double bound);

} // namespace palimpsest::engine
