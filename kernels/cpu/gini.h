// Computes RowStatistic::Gini (backend.h) of one attention row.
#pragma once

#include <cstdint>

namespace palimpsest::kernels {

// Sorts the first `visible` elements of the row. REQUIRES: visible > 0.
float gini_of(float* row, int64_t visible);

} // namespace palimpsest::kernels
