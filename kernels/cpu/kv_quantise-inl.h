// Converts rows of a pool, which may be quantised to 8 bits, to vectors of f32 and back. Bit for bit equal to the
// scalar conversions of base/convert.h.
//
// Included once per SIMD target; see hwy/foreach_target.h for the guard.
#if defined(PALIMPSEST_KERNELS_CPU_KV_QUANTISE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef PALIMPSEST_KERNELS_CPU_KV_QUANTISE_INL_H
#undef PALIMPSEST_KERNELS_CPU_KV_QUANTISE_INL_H
#else
#define PALIMPSEST_KERNELS_CPU_KV_QUANTISE_INL_H
#endif

#include <cstdint>

#include "hwy/highway.h"
#include "kernels/base/convert.h"
#include "kernels/cpu/kv_convert-inl.h"
#include "kernels/cpu/kv_list.h"
#include "kernels/cpu/q8_0-inl.h"

HWY_BEFORE_NAMESPACE();
namespace palimpsest::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Loads Lanes(d) elements starting at `element`. REQUIRES for Q8_0: they share one scale.
template<DType type, class D>
HWY_INLINE hn::Vec<D> LoadWide(D d, const KvRow& row, int64_t element)
{
    if constexpr (type == DType::Q8_0) {
        static_assert(static_cast<int64_t>(hn::MaxLanes(D())) <= q8_0_weights);
        const auto scale = Q8Scale(d, row.scales + element / q8_0_weights * int64_t{sizeof(uint16_t)});
        return hn::Mul(scale, SignedBytes(d, row.elements + element));
    } else {
        return LoadWide<type>(d, row.elements, element);
    }
}

template<DType type>
HWY_INLINE void WidenRow(const KvRow& row, float* HWY_RESTRICT to, int64_t count)
{
    if constexpr (type == DType::Q8_0) {
        const hn::CappedTag<float, q8_0_weights> d;
        for (int64_t i = 0; i < count; i += static_cast<int64_t>(hn::Lanes(d)))
            hn::StoreU(LoadWide<type>(d, row, i), d, to + i);
    } else {
        WidenRow<type>(row.elements, to, count);
    }
}

inline void WidenRow(DType type, const KvRow& row, float* to, int64_t count)
{
    if (type == DType::Q8_0) return WidenRow<DType::Q8_0>(row, to, count);
    WidenRow(type, row.elements, to, count);
}

// Quantises one block of 32 elements to bytes and a scale.
HWY_INLINE void Quantise(const float* HWY_RESTRICT from, std::byte* HWY_RESTRICT to, std::byte* HWY_RESTRICT scale)
{
    const hn::CappedTag<float, q8_0_weights> d;
    const hn::RebindToSigned<decltype(d)> i32;
    const hn::Rebind<int8_t, decltype(d)> i8;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    auto magnitudes = hn::Zero(i32);
    for (int64_t i = 0; i < q8_0_weights; i += lanes)
        magnitudes = hn::Max(magnitudes, hn::BitCast(i32, hn::Abs(hn::LoadU(d, from + i))));
    const uint16_t bits = q8_scale(static_cast<uint32_t>(hn::GetLane(hn::MaxOfLanes(i32, magnitudes))));
    std::memcpy(scale, &bits, sizeof bits);
    const float step = f16_to_f32(bits);
    if (!(step > 0)) {
        std::memset(to, 0, q8_0_weights);
        return;
    }
    // Floats near 1.5 * 2^23 are integers: adding that number rounds to the nearest integer, which is then in the
    // low bits.
    constexpr float rounder = 0x1.8p23f;
    auto* bytes = static_cast<int8_t*>(static_cast<void*>(to));
    for (int64_t i = 0; i < q8_0_weights; i += lanes) {
        const auto steps = hn::Div(hn::LoadU(d, from + i), hn::Set(d, step));
        const auto within = hn::Min(hn::Max(steps, hn::Set(d, -127.0f)), hn::Set(d, 127.0f));
        const auto rounded = hn::BitCast(i32, hn::Add(within, hn::Set(d, rounder)));
        const auto whole = hn::Sub(rounded, hn::BitCast(i32, hn::Set(d, rounder)));
        hn::StoreU(hn::DemoteTo(i8, whole), i8, bytes + i);
    }
}

inline void NarrowRow(DType type, const float* from, const KvRow& to, int64_t count)
{
    if (type != DType::Q8_0) return NarrowRow(type, from, to.elements, count);
    std::byte* scale = to.scales;
    for (int64_t i = 0; i < count; i += q8_0_weights, scale += sizeof(uint16_t))
        Quantise(from + i, to.elements + i, scale);
}

} // namespace HWY_NAMESPACE
} // namespace palimpsest::kernels
HWY_AFTER_NAMESPACE();

#endif
