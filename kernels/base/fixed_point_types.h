// Types of weights whose decoded rows a processor with VNNI multiplies in fixed point (cpu/fixed_point.h), unless
// BackendChoice::exact_products says otherwise.
#pragma once

#include "kernels/base/dtype.h"

namespace palimpsest::kernels {

constexpr bool may_be_in_fixed_point(DType type)
{
    switch (type) {
        case DType::Q4_0:
        case DType::Q4_1:
        case DType::Q4_K:
        case DType::Q5_K:
        case DType::Q6_K: return true;
        default: return false;
    }
}

} // namespace palimpsest::kernels
