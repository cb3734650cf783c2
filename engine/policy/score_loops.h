// Loops over all entries of a list, in the widest vectors of this processor; the results are the same bits on all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/policy/shaping.h"

namespace palimpsest::engine {

// y = kept y + x / divisor
void decay_and_add(double kept, std::span<const float> x, double divisor, std::span<double> y);
// y = kept y + add
void decay_and_add(double kept, double add, std::span<double> y);
// to = x / by; the first to.size() of them.
void divide(const double* x, const double* by, std::span<double> to);
// The mean over a group's heads of mean + gamma * unbiased variance, 0 where fewer than two queries count.
// `moments`: [entries, group, 2] sums and sums of squares over count[entry] queries.
void mean_and_variance(const double* moments, const double* count, size_t group, double gamma,
                       std::span<double> to);
// to[i], for i in [first, last): the pooled from[i - kernel / 2 ... i + kernel / 2], which all exist.
void pool_inner(Pooling kind, int32_t kernel, const double* from, size_t first, size_t last, double* to);
// The lowest entry of [first, last); of equal ones the last. REQUIRES: first < last, no NaN.
size_t last_lowest(const double* x, size_t first, size_t last);
// The first entry of [first, last) that is not above the bound, or last.
size_t next_not_above(const double* x, size_t first, size_t last, double bound);

} // namespace palimpsest::engine
