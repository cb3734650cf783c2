// Loops that must be unrolled, so that the arrays they index stay in registers.
#pragma once

#include <cuda_runtime.h>

#include <utility>

namespace palimpsest::kernels::cuda {

// Calls body(0), body(1), ... body(count - 1).
template<int count, class Body>
__device__ inline void unrolled(const Body& body)
{
    [&]<int... i>(std::integer_sequence<int, i...>)
    {
        (body(i), ...);
    }
    (std::make_integer_sequence<int, count>());
}

} // namespace palimpsest::kernels::cuda
