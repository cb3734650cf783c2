// Eviction as kernels/eviction.h says it, word for word: plain loops over host memory, slow and obvious. It shares
// no code with the policies or with a backend.
#pragma once

#include "kernels/eviction.h"

namespace palimpsest::kernels::test {

// All pointers are host memory.
void reference_accumulate(const AccumulateArgs& args);
void reference_evict(const EvictArgs& args);

} // namespace palimpsest::kernels::test
