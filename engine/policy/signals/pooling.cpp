#include "engine/policy/signals/pooling.h"

#include <algorithm>
#include <cassert>

#include "engine/policy/signals/score_loops.h"

namespace palimpsest::engine {

namespace {

void pool_edge(Pooling kind, int32_t kernel, std::span<const double> from, int64_t first, int64_t last, double* to)
{
    const auto n = static_cast<int64_t>(from.size());
    const int64_t reach = kernel / 2;
    for (int64_t i = first; i < last; ++i) {
        const double* begin = from.data() + std::max<int64_t>(0, i - reach);
        const double* end = from.data() + std::min(n, i + reach + 1);
        double result = *begin;
        for (const double* neighbour = begin + 1; neighbour < end; ++neighbour)
            result = kind == Pooling::Max ? std::max(result, *neighbour) : result + *neighbour;
        to[i] = kind == Pooling::Max ? result : result / kernel;
    }
}

} // namespace

void pool(Pooling kind, int32_t kernel, std::span<const double> from, std::span<double> to)
{
    assert(kernel % 2 == 1 && from.size() == to.size());
    const auto n = static_cast<int64_t>(from.size());
    const int64_t inner = std::min<int64_t>(kernel / 2, n), end = std::max(inner, n - kernel / 2);
    pool_edge(kind, kernel, from, 0, inner, to.data());
    pool_inner(kind, kernel, from.data(), static_cast<size_t>(inner), static_cast<size_t>(end), to.data());
    pool_edge(kind, kernel, from, end, n, to.data());
}

} // namespace palimpsest::engine
