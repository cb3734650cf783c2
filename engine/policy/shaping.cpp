#include "engine/policy/shaping.h"

#include <algorithm>
#include <cassert>

namespace palimpsest::engine {

void pool(Pooling kind, int32_t kernel, std::span<const double> from, std::span<double> to)
{
    assert(kernel % 2 == 1 && from.size() == to.size());
    const auto n = static_cast<int64_t>(from.size());
    const int64_t reach = kernel / 2;
    for (int64_t at = 0; at < n; ++at) {
        const auto window = from.subspan(static_cast<size_t>(std::max<int64_t>(0, at - reach)));
        const auto size = static_cast<size_t>(std::min(n, at + reach + 1) - std::max<int64_t>(0, at - reach));
        double& result = to[static_cast<size_t>(at)];
        if (kind == Pooling::Max) {
            result = *std::max_element(window.begin(), window.begin() + static_cast<std::ptrdiff_t>(size));
            continue;
        }
        result = 0;
        for (size_t i = 0; i < size; ++i)
            result += window[i];
        result /= kernel;
    }
}

} // namespace palimpsest::engine
