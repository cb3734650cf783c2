#include "engine/eval/proportion.h"

#include <algorithm>
#include <cmath>

namespace palimpsest::engine {

std::pair<double, double> Proportion::interval() const
{
    if (of == 0) return {0, 1};
    constexpr double z = 1.959963984540054; // the normal distribution's 97.5 % quantile
    const double n = static_cast<double>(of), p = share();
    const double middle = p + z * z / (2 * n);
    const double half = z * std::sqrt(p * (1 - p) / n + z * z / (4 * n * n));
    const double scale = 1 + z * z / n;
    return {std::max(0.0, (middle - half) / scale), std::min(1.0, (middle + half) / scale)};
}

} // namespace palimpsest::engine
