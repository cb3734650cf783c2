// Converts rows of keys and values between f32 and the types of a pool. Bit for bit equal to the scalar conversions
// of base/convert.h on every SIMD target, so that a cache written on one machine reads the same on another.
//
// Included once per SIMD target; see hwy/foreach_target.h for the guard.
#if defined(PALIMPSEST_KERNELS_CPU_KV_CONVERT_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef PALIMPSEST_KERNELS_CPU_KV_CONVERT_INL_H
#undef PALIMPSEST_KERNELS_CPU_KV_CONVERT_INL_H
#else
#define PALIMPSEST_KERNELS_CPU_KV_CONVERT_INL_H
#endif

#include <cstdint>
#include <cstring>

#include "hwy/highway.h"
#include "kernels/base/convert.h"

HWY_BEFORE_NAMESPACE();
namespace palimpsest::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Loads Lanes(d) f16 values starting at `from`.
template<class D>
HWY_INLINE hn::Vec<D> LoadF16(D d, const uint16_t* HWY_RESTRICT from)
{
#if HWY_TARGET <= HWY_AVX2 || HWY_TARGET == HWY_NEON
    const hn::Rebind<hwy::float16_t, D> half;
    const hn::Rebind<uint16_t, D> bits;
    return hn::PromoteTo(d, hn::BitCast(half, hn::LoadU(bits, from)));
#else
    // On targets without conversion instructions, Highway 1.0.3 converts infinity to 65536, so the bits are
    // converted here. Scaling by 2^112 restores the exponent and makes subnormal halves normal.
    const hn::RebindToUnsigned<D> u32;
    const auto bits = hn::PromoteTo(u32, hn::LoadU(hn::Rebind<uint16_t, D>(), from));
    const auto magnitude = hn::And(bits, hn::Set(u32, 0x7FFFu));
    const auto scaled = hn::Mul(hn::BitCast(d, hn::ShiftLeft<13>(magnitude)), hn::Set(d, 0x1p112f));
    const hn::RebindToSigned<D> i32;
    const auto special = hn::Gt(hn::BitCast(i32, magnitude), hn::Set(i32, 0x7BFF));
    const auto fixed = hn::Or(hn::BitCast(i32, scaled), hn::IfThenElseZero(special, hn::Set(i32, 0x7F800000)));
    const auto sign = hn::ShiftLeft<16>(hn::And(bits, hn::Set(u32, 0x8000u)));
    return hn::BitCast(d, hn::Or(hn::BitCast(u32, fixed), sign));
#endif
}

template<class D>
HWY_INLINE hn::Vec<D> LoadBf16(D d, const uint16_t* HWY_RESTRICT from)
{
    const hn::RebindToUnsigned<D> u32;
    return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(u32, hn::LoadU(hn::Rebind<uint16_t, D>(), from))));
}

template<DType type, class D>
HWY_INLINE hn::Vec<D> LoadWide(D d, const std::byte* HWY_RESTRICT row, int64_t element)
{
    if constexpr (type == DType::F32)
        return hn::LoadU(d, reinterpret_cast<const float*>(row) + element);
    else if constexpr (type == DType::F16)
        return LoadF16(d, reinterpret_cast<const uint16_t*>(row) + element);
    else
        return LoadBf16(d, reinterpret_cast<const uint16_t*>(row) + element);
}

template<class D>
HWY_INLINE void StoreF16(D d, hn::Vec<D> value, uint16_t* HWY_RESTRICT to)
{
    const hn::RebindToSigned<D> i32;
    const hn::RebindToUnsigned<D> u32;
    const auto bits = hn::BitCast(u32, value);
    const auto sign = hn::And(hn::ShiftRight<16>(bits), hn::Set(u32, 0x8000u));
    const auto magnitude = hn::BitCast(i32, hn::And(bits, hn::Set(u32, 0x7FFFFFFFu)));
    const auto odd = hn::And(hn::ShiftRight<13>(magnitude), hn::Set(i32, 1));
    const auto normal = hn::ShiftRight<13>(hn::Add(hn::Sub(magnitude, hn::Set(i32, 0x38000000 - 0xFFF)), odd));
    // Subnormal halves are multiples of 2^-24, which is also the spacing of floats in [0.5, 1): adding 0.5 rounds
    // to it.
    const auto nudged = hn::Add(hn::BitCast(d, magnitude), hn::Set(d, 0.5f));
    const auto subnormal = hn::Sub(hn::BitCast(i32, nudged), hn::Set(i32, 0x3F000000));
    auto half = hn::IfThenElse(hn::Lt(magnitude, hn::Set(i32, 0x38800000)), subnormal, normal);
    half = hn::IfThenElse(hn::Gt(magnitude, hn::Set(i32, 0x477FEFFF)), hn::Set(i32, 0x7C00), half);
    half = hn::IfThenElse(hn::Gt(magnitude, hn::Set(i32, 0x7F800000)), hn::Set(i32, 0x7E00), half);
    const hn::Rebind<uint16_t, D> u16;
    hn::StoreU(hn::DemoteTo(u16, hn::Or(half, hn::BitCast(i32, sign))), u16, to);
}

template<class D>
HWY_INLINE void StoreBf16(D d, hn::Vec<D> value, uint16_t* HWY_RESTRICT to)
{
    (void)d;
    const hn::RebindToSigned<D> i32;
    const hn::RebindToUnsigned<D> u32;
    const auto bits = hn::BitCast(u32, value);
    const auto upper = hn::ShiftRight<16>(bits);
    const auto odd = hn::And(upper, hn::Set(u32, 1));
    const auto rounded = hn::ShiftRight<16>(hn::Add(bits, hn::Add(odd, hn::Set(u32, 0x7FFFu))));
    const auto quiet = hn::Or(upper, hn::Set(u32, 0x40u));
    const auto magnitude = hn::BitCast(i32, hn::And(bits, hn::Set(u32, 0x7FFFFFFFu)));
    const auto is_nan = hn::Gt(magnitude, hn::Set(i32, 0x7F800000));
    const auto half = hn::IfThenElse(is_nan, hn::BitCast(i32, quiet), hn::BitCast(i32, rounded));
    const hn::Rebind<uint16_t, D> u16;
    hn::StoreU(hn::DemoteTo(u16, half), u16, to);
}

template<DType type>
HWY_INLINE void WidenRow(const std::byte* HWY_RESTRICT from, float* HWY_RESTRICT to, int64_t count)
{
    const hn::ScalableTag<float> d;
    const hn::CappedTag<float, 8> small;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d)), small_lanes = static_cast<int64_t>(hn::Lanes(small));
    int64_t i = 0;
    for (; i + lanes <= count; i += lanes)
        hn::StoreU(LoadWide<type>(d, from, i), d, to + i);
    for (; i + small_lanes <= count; i += small_lanes)
        hn::StoreU(LoadWide<type>(small, from, i), small, to + i);
    if (i < count) to_f32(type, from + row_bytes(type, i), to + i, count - i);
}

template<DType type>
HWY_INLINE void NarrowRow(const float* HWY_RESTRICT from, std::byte* HWY_RESTRICT to, int64_t count)
{
    const hn::CappedTag<float, 8> d;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    int64_t i = 0;
    if constexpr (type != DType::F32) {
        auto* halves = reinterpret_cast<uint16_t*>(to);
        for (; i + lanes <= count; i += lanes) {
            if constexpr (type == DType::F16)
                StoreF16(d, hn::LoadU(d, from + i), halves + i);
            else
                StoreBf16(d, hn::LoadU(d, from + i), halves + i);
        }
    }
    if (i < count) from_f32(type, from + i, to + row_bytes(type, i), count - i);
}

// REQUIRES: type is F32, F16 or BF16.
inline void WidenRow(DType type, const std::byte* from, float* to, int64_t count)
{
    if (type == DType::F32) return WidenRow<DType::F32>(from, to, count);
    if (type == DType::F16) return WidenRow<DType::F16>(from, to, count);
    WidenRow<DType::BF16>(from, to, count);
}

inline void NarrowRow(DType type, const float* from, std::byte* to, int64_t count)
{
    if (type == DType::F32) return NarrowRow<DType::F32>(from, to, count);
    if (type == DType::F16) return NarrowRow<DType::F16>(from, to, count);
    NarrowRow<DType::BF16>(from, to, count);
}

} // namespace HWY_NAMESPACE
} // namespace palimpsest::kernels
HWY_AFTER_NAMESPACE();

#endif
