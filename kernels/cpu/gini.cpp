#include "kernels/cpu/gini.h"

#include <hwy/contrib/sort/vqsort.h>

namespace palimpsest::kernels {

float gini_of(float* row, int64_t visible)
{
    hwy::Sorter()(row, static_cast<size_t>(visible), hwy::SortAscending());
    double weighted = 0, total = 0;
    for (int64_t i = 0; i < visible; ++i) {
        weighted += static_cast<double>(2 * i + 1 - visible) * static_cast<double>(row[i]);
        total += static_cast<double>(row[i]);
    }
    return static_cast<float>(weighted / (static_cast<double>(visible) * total));
}

} // namespace palimpsest::kernels
