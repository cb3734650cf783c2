#include "engine/policy/shaping.h"

#include <algorithm>
#include <cassert>
#include <limits>

namespace palimpsest::engine {

void pool(Pooling kind, int32_t kernel, std::span<const double> from, std::span<double> to)
{
    assert(kernel % 2 == 1 && from.size() == to.size());
    const auto n = static_cast<int64_t>(from.size());
    const int64_t reach = std::min<int64_t>(kernel / 2, n);
    std::fill(to.begin(), to.end(), kind == Pooling::Max ? -std::numeric_limits<double>::infinity() : 0.0);
    // Neighbour by neighbour from the left, for all entries at once.
    for (int64_t offset = -reach; offset <= reach; ++offset) {
        const int64_t first = std::max<int64_t>(0, -offset), last = std::min(n, n - offset);
        const double* neighbour = from.data() + offset;
        for (int64_t i = first; i < last; ++i) {
            double& result = to[static_cast<size_t>(i)];
            result = kind == Pooling::Max ? std::max(result, neighbour[i]) : result + neighbour[i];
        }
    }
    if (kind == Pooling::Max) return;
    for (double& result : to)
        result /= kernel;
}

} // namespace palimpsest::engine
