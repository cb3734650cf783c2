// The best logits as kernels/backend.h says it: a plain sort over host memory.
#pragma once

#include "kernels/backend.h"

namespace palimpsest::kernels::test {

// All pointers are host memory. Writes no best ones if `first_bad` is not `count`.
void reference_best_logits(const BestLogitsArgs& args);

} // namespace palimpsest::kernels::test
