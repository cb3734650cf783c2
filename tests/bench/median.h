// The middle of several samples.
#pragma once

#include <algorithm>
#include <vector>

namespace palimpsest::bench {

// REQUIRES: there are some. Of an even number the upper one of the two in the middle.
inline double median(std::vector<double> values)
{
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

} // namespace palimpsest::bench
