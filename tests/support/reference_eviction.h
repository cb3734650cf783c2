// Reference for kernels/eviction.h: plain loops over host memory. Shares no code with the policies or the backends.
#pragma once

#include "kernels/eviction.h"

namespace palimpsest::kernels::test {

// All pointers are host memory.
void reference_accumulate(const AccumulateArgs& args);
void reference_evict(const EvictArgs& args);

} // namespace palimpsest::kernels::test
