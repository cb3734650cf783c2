#include "kernels/cpu/gini.h"

#include <cmath>
#include <hwy/contrib/sort/vqsort.h>
#include <limits>
#include <numeric>

namespace palimpsest::kernels {

float gini_of(float* row, int64_t visible)
{
    thread_local const hwy::Sorter sort; // reused, because it owns memory
    const double total = std::accumulate(row, row + visible, 0.0);
    if (std::isnan(total)) return std::numeric_limits<float>::quiet_NaN();
    sort(row, static_cast<size_t>(visible), hwy::SortAscending());
    double weighted = 0;
    for (int64_t i = 0; i < visible; ++i)
        weighted += static_cast<double>(2 * i + 1 - visible) * static_cast<double>(row[i]);
    return static_cast<float>(weighted / (static_cast<double>(visible) * total));
}

} // namespace palimpsest::kernels
