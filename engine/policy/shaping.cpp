#include "engine/policy/shaping.h"

#include <algorithm>
#include <cassert>

namespace palimpsest::engine {

namespace {

// All neighbours of entries [first, last), from the left; a constant number of them takes one pass in registers.
template<int kernel>
void pool_inner(Pooling kind, const double* from, int64_t first, int64_t last, double* to)
{
    if (kind == Pooling::Max) {
        for (int64_t i = first; i < last; ++i) {
            double most = from[i - kernel / 2];
            for (int k = 1; k < kernel; ++k)
                most = std::max(most, from[i - kernel / 2 + k]);
            to[i] = most;
        }
        return;
    }
    for (int64_t i = first; i < last; ++i) {
        double sum = from[i - kernel / 2];
        for (int k = 1; k < kernel; ++k)
            sum += from[i - kernel / 2 + k];
        to[i] = sum / kernel;
    }
}

void pool_any(Pooling kind, int32_t kernel, std::span<const double> from, int64_t first, int64_t last, double* to)
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
    pool_any(kind, kernel, from, 0, inner, to.data());
    if (kernel == 3) {
        pool_inner<3>(kind, from.data(), inner, end, to.data());
    } else if (kernel == 5) {
        pool_inner<5>(kind, from.data(), inner, end, to.data());
    } else if (kernel == 7) {
        pool_inner<7>(kind, from.data(), inner, end, to.data());
    } else {
        pool_any(kind, kernel, from, inner, end, to.data());
    }
    pool_any(kind, kernel, from, end, n, to.data());
}

} // namespace palimpsest::engine
