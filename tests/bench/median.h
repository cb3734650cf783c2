// Median of samples.
#pragma once

#include <algorithm>
#include <vector>

namespace palimpsest::bench {

// REQUIRES: not empty. Returns the upper median for an even number of values.
inline double median(std::vector<double> values)
{
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

} // namespace palimpsest::bench
