// The quantised weight types that a processor with VNNI multiplies with activations in fixed point, unless
// BackendChoice::exact_products is set.
#pragma once

#include "kernels/base/dtype.h"

namespace palimpsest::kernels {

// Whether decode multiplies this type in fixed point, with activations of 24 bits (cpu/fixed_point.h).
constexpr bool decodes_in_fixed_point(DType type)
{
    switch (type) {
    case DType::Q4_0:
    case DType::Q4_1:
    case DType::Q4_K:
    case DType::Q5_K:
    case DType::Q6_K:
        return true;
    default:
        return false;
    }
}

// Whether prefill multiplies this type in fixed point, with activations of 16 bits (cpu/fixed_point_gemm.h). Q8_0
// is not one of these types, because its f32 product is fast.
inline bool prefills_in_fixed_point(DType type)
{
    return info(type).block > 1 && type != DType::Q8_0;
}

inline bool may_be_in_fixed_point(DType type)
{
    return decodes_in_fixed_point(type) || prefills_in_fixed_point(type);
}

} // namespace palimpsest::kernels
