// Reads rows of Q8_0 blocks (f16 scale, 32 signed bytes; see base/dtype.h) as vectors of f32.
//
// Included once per SIMD target; see hwy/foreach_target.h for the guard.
#if defined(PALIMPSEST_KERNELS_CPU_Q8_0_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef PALIMPSEST_KERNELS_CPU_Q8_0_INL_H
#undef PALIMPSEST_KERNELS_CPU_Q8_0_INL_H
#else
#define PALIMPSEST_KERNELS_CPU_Q8_0_INL_H
#endif

#include <cstdint>

#include "hwy/highway.h"
#include "kernels/cpu/kv_convert-inl.h"

HWY_BEFORE_NAMESPACE();
namespace palimpsest::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

inline constexpr int64_t q8_0_weights = 32, q8_0_bytes = sizeof(BlockQ8_0);

// The block's scale in every lane.
template<class D>
HWY_INLINE hn::Vec<D> Q8Scale(D d, const std::byte* block)
{
    uint16_t scale;
    std::memcpy(&scale, block, sizeof scale);
#if HWY_TARGET <= HWY_AVX2
    const hn::Rebind<uint16_t, D> bits;
    return hn::PromoteTo(d, hn::BitCast(hn::Rebind<hwy::float16_t, D>(), hn::Set(bits, scale)));
#else
    return hn::Set(d, hn::GetLane(LoadF16(hn::CappedTag<float, 1>(), &scale)));
#endif
}

// Lanes(d) signed bytes as f32.
template<class D>
HWY_INLINE hn::Vec<D> SignedBytes(D d, const std::byte* bytes)
{
    const hn::Rebind<int8_t, D> i8;
    const hn::Rebind<int32_t, D> i32;
    const auto* q = static_cast<const int8_t*>(static_cast<const void*>(bytes));
    return hn::ConvertTo(d, hn::PromoteTo(i32, hn::LoadU(i8, q)));
}

// Lanes(d) bytes of the block as f32, starting at byte `from`.
template<class D>
HWY_INLINE hn::Vec<D> Q8Bytes(D d, const std::byte* block, int64_t from)
{
    return SignedBytes(d, block + 2 + from);
}

// REQUIRES: count is a multiple of 32.
inline void WidenQ8Row(const std::byte* HWY_RESTRICT block, float* HWY_RESTRICT to, int64_t count)
{
    const hn::CappedTag<float, q8_0_weights> d;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    for (int64_t i = 0; i < count; i += q8_0_weights, block += q8_0_bytes) {
        const auto scale = Q8Scale(d, block);
        for (int64_t j = 0; j < q8_0_weights; j += lanes)
            hn::StoreU(hn::Mul(scale, Q8Bytes(d, block, j)), d, to + i + j);
    }
}

} // namespace HWY_NAMESPACE
} // namespace palimpsest::kernels
HWY_AFTER_NAMESPACE();

#endif
