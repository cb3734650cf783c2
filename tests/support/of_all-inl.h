// Applies a vector function to an array. Included once per SIMD target; see hwy/foreach_target.h for the guard.
#if defined(PALIMPSEST_TESTS_SUPPORT_OF_ALL_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef PALIMPSEST_TESTS_SUPPORT_OF_ALL_INL_H
#undef PALIMPSEST_TESTS_SUPPORT_OF_ALL_INL_H
#else
#define PALIMPSEST_TESTS_SUPPORT_OF_ALL_INL_H
#endif

#include <cstdint>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace palimpsest::tests {
namespace HWY_NAMESPACE {

// x[i] = function(d, x[i]). REQUIRES: count is a multiple of 16.
template<class Function>
HWY_INLINE void OfAll(float* x, int64_t count, const Function& function)
{
    namespace hn = hwy::HWY_NAMESPACE;
    const hn::ScalableTag<float> d;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    for (int64_t i = 0; i < count; i += lanes)
        hn::StoreU(function(d, hn::LoadU(d, x + i)), d, x + i);
}

} // namespace HWY_NAMESPACE
} // namespace palimpsest::tests
HWY_AFTER_NAMESPACE();

#endif
