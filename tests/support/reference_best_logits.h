// Reference for best_logits in kernels/backend.h: sorts in host memory.
#pragma once

#include "kernels/backend.h"

namespace palimpsest::kernels::test {

// All pointers are host memory. Writes no ids or values if `first_bad` is not `count`.
void reference_best_logits(const BestLogitsArgs& args);

} // namespace palimpsest::kernels::test
