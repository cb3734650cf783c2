// Building blocks for unpacking quantised blocks: bit fields of bytes, and scales as f32.
//
// Included once per SIMD target; see hwy/foreach_target.h for the guard.
#if defined(PALIMPSEST_KERNELS_CPU_PACKED_BYTES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef PALIMPSEST_KERNELS_CPU_PACKED_BYTES_INL_H
#undef PALIMPSEST_KERNELS_CPU_PACKED_BYTES_INL_H
#else
#define PALIMPSEST_KERNELS_CPU_PACKED_BYTES_INL_H
#endif

#include <cstdint>
#include <cstring>

#include "hwy/highway.h"
#include "kernels/base/dtype.h"
#include "kernels/cpu/kv_convert-inl.h"

HWY_BEFORE_NAMESPACE();
namespace palimpsest::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Up to 256 unpacked weights: the value of an element of group g is scale[g] * q + offset[g].
struct UnpackedWeights {
    HWY_ALIGN int8_t q[super_block];
    HWY_ALIGN float scale[16], offset[16];
};

#if HWY_TARGET != HWY_SCALAR
using Bytes16 = hn::CappedTag<uint8_t, 16>; // one vector, for the 16 bytes of 32 nibbles
using Bytes32 = hn::CappedTag<uint8_t, 32>; // one or two vectors, for 32 elements of a group

// Shifts every byte right by `right`, or left by -right, and masks it with `mask`.
template<int right, class D>
HWY_INLINE hn::Vec<D> BitsOf(D d, hn::Vec<D> bytes, int mask)
{
    const hn::RepartitionToWide<D> u16;
    auto shifted = bytes;
    if constexpr (right > 0) shifted = hn::BitCast(d, hn::ShiftRight<right>(hn::BitCast(u16, bytes)));
    if constexpr (right < 0) shifted = hn::BitCast(d, hn::ShiftLeft<-right>(hn::BitCast(u16, bytes)));
    return hn::And(shifted, hn::Set(d, static_cast<uint8_t>(mask)));
}

// `value` for bytes in which `bit` is set, else 0.
template<class D>
HWY_INLINE hn::Vec<D> WhereBit(D d, hn::Vec<D> bytes, hn::Vec<D> bit, int value)
{
    return hn::IfThenElseZero(hn::TestBit(bytes, bit), hn::Set(d, static_cast<uint8_t>(value)));
}

template<class D>
HWY_INLINE void StoreQ(D d, hn::Vec<D> bytes, int8_t* HWY_RESTRICT to)
{
    hn::Store(hn::BitCast(hn::RebindToSigned<D>(), bytes), hn::RebindToSigned<D>(), to);
    (void)d;
}

// Unpacks 32 nibbles: the low ones of 16 bytes, then the high ones, and applies `finish` to each vector.
template<class Finish>
HWY_INLINE void UnpackNibbles(const uint8_t* HWY_RESTRICT from, int8_t* HWY_RESTRICT to, const Finish& finish)
{
    const Bytes16 d;
    const auto bytes = hn::LoadU(d, from);
    StoreQ(d, finish(BitsOf<0>(d, bytes, 15), 0), to);
    StoreQ(d, finish(BitsOf<4>(d, bytes, 15), 1), to + 16);
}

// Like UnpackNibbles; each nibble is an index into 16 signed values.
HWY_INLINE void LookUpNibbles(const uint8_t* HWY_RESTRICT from, const int8_t* HWY_RESTRICT values,
                              int8_t* HWY_RESTRICT to)
{
    const Bytes16 d;
    const auto table = hn::LoadU(d, reinterpret_cast<const uint8_t*>(values));
    UnpackNibbles(from, to, [&](auto nibbles, int) HWY_ATTR { return hn::TableLookupBytes(table, nibbles); });
}

// to[i] = factor * from[i] for `count` numbers, a multiple of 8.
template<class T>
HWY_INLINE void ScaledBytes(const T* HWY_RESTRICT from, int count, float factor, float* HWY_RESTRICT to)
{
    const hn::CappedTag<float, 8> d;
    const hn::Rebind<int32_t, decltype(d)> i32;
    const hn::Rebind<T, decltype(d)> bytes;
    const auto factors = hn::Set(d, factor);
    const int lanes = static_cast<int>(hn::Lanes(d));
    for (int i = 0; i < count; i += lanes)
        hn::Store(hn::Mul(factors, hn::ConvertTo(d, hn::PromoteTo(i32, hn::LoadU(bytes, from + i)))), d, to + i);
}

HWY_INLINE float F16At(const void* from)
{
    uint16_t bits;
    std::memcpy(&bits, from, sizeof bits);
    return hn::GetLane(LoadF16(hn::CappedTag<float, 1>(), &bits));
}
#endif

} // namespace HWY_NAMESPACE
} // namespace palimpsest::kernels
HWY_AFTER_NAMESPACE();

#endif
