// Unpacks blocks of 256 weights with scales per group (layouts: base/quantised_blocks.h).
//
// Included once per SIMD target; see hwy/foreach_target.h for the guard.
#if defined(PALIMPSEST_KERNELS_CPU_SUPER_BLOCKS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef PALIMPSEST_KERNELS_CPU_SUPER_BLOCKS_INL_H
#undef PALIMPSEST_KERNELS_CPU_SUPER_BLOCKS_INL_H
#else
#define PALIMPSEST_KERNELS_CPU_SUPER_BLOCKS_INL_H
#endif

#include "kernels/cpu/small_blocks-inl.h"

HWY_BEFORE_NAMESPACE();
namespace palimpsest::kernels {
namespace HWY_NAMESPACE {
#if HWY_TARGET != HWY_SCALAR

template<class Block, int group_elements, bool offset>
struct SuperBlocks {
    static constexpr int elements = super_block, group = group_elements, bytes = sizeof(Block);
    static constexpr bool has_offset = offset;
};

// Unpacks bytes of four two-bit elements: to[32 j + i] = finish(bits 2 j and 2 j + 1 of from[i], j, i).
template<class Finish>
HWY_INLINE void UnpackPairs(const uint8_t* HWY_RESTRICT from, int8_t* HWY_RESTRICT to, const Finish& finish)
{
    const Bytes32 d;
    const int lanes = static_cast<int>(hn::Lanes(d));
    for (int i = 0; i < 32; i += lanes) {
        const auto bytes = hn::LoadU(d, from + i);
        StoreQ(d, finish(BitsOf<0>(d, bytes, 3), 0, i), to + i);
        StoreQ(d, finish(BitsOf<2>(d, bytes, 3), 1, i), to + 32 + i);
        StoreQ(d, finish(BitsOf<4>(d, bytes, 3), 2, i), to + 64 + i);
        StoreQ(d, finish(BitsOf<6>(d, bytes, 3), 3, i), to + 96 + i);
    }
}

template<>
struct BlocksOf<DType::Q2_K> : SuperBlocks<BlockQ2_K, 16, true> {
    static HWY_INLINE void Unpack(const std::byte* block, const UnpackedTo& to)
    {
        const auto* b = reinterpret_cast<const uint8_t*>(block);
        const Bytes16 d;
        const auto scales = hn::LoadU(d, b + offsetof(BlockQ2_K, scales));
        HWY_ALIGN uint8_t low[16], high[16];
        hn::Store(BitsOf<0>(d, scales, 15), d, low);
        hn::Store(BitsOf<4>(d, scales, 15), d, high);
        ScaledBytes(low, 16, F16At(b + offsetof(BlockQ2_K, d)), to.scale);
        ScaledBytes(high, 16, -F16At(b + offsetof(BlockQ2_K, m)), to.offset);
        for (int half = 0; half < 2; ++half)
            UnpackPairs(b + offsetof(BlockQ2_K, q) + 32 * half, to.q + 128 * half,
                        [](auto bits, int, int) HWY_ATTR { return bits; });
    }
};

template<>
struct BlocksOf<DType::Q3_K> : SuperBlocks<BlockQ3_K, 16, false> {
    static HWY_INLINE void Unpack(const std::byte* block, const UnpackedTo& to)
    {
        const auto* b = reinterpret_cast<const uint8_t*>(block);
        Scales(b + offsetof(BlockQ3_K, scales), F16At(b + offsetof(BlockQ3_K, d)), to.scale);
        const Bytes32 d;
        for (int half = 0; half < 2; ++half)
            UnpackPairs(b + offsetof(BlockQ3_K, q) + 32 * half, to.q + 128 * half,
                        [&](auto bits, int j, int i) HWY_ATTR {
                            const auto third = hn::LoadU(d, b + offsetof(BlockQ3_K, third) + i);
                            const auto bit = hn::Set(d, static_cast<uint8_t>(1 << (4 * half + j)));
                            return hn::Sub(hn::Or(bits, WhereBit(d, third, bit, 4)), hn::Set(d, uint8_t{4}));
                        });
    }

private:
    static HWY_INLINE void Scales(const uint8_t* HWY_RESTRICT packed, float factor, float* HWY_RESTRICT to)
    {
        uint32_t low[2], high;
        std::memcpy(low, packed, sizeof low);
        std::memcpy(&high, packed + sizeof low, sizeof high);
        uint32_t words[4];
        for (int g = 0; g < 4; ++g)
            words[g] = (low[g % 2] >> (g / 2 * 4) & 0x0F0F0F0Fu) | (high >> (2 * g) & 0x03030303u) << 4;
        HWY_ALIGN int8_t scales[16];
        std::memcpy(scales, words, sizeof scales);
        for (int8_t& scale : scales)
            scale = static_cast<int8_t>(scale - 32);
        ScaledBytes(scales, 16, factor, to);
    }
};

// Six-bit scales and minima, as packed in Q4_K and Q5_K.
HWY_INLINE void SixBitScales(const uint8_t* HWY_RESTRICT packed, float factor, float minimum, const UnpackedTo& to)
{
    uint32_t s[3];
    std::memcpy(s, packed, sizeof s);
    const uint32_t scales[2] = {s[0] & 0x3F3F3F3Fu, (s[2] & 0x0F0F0F0Fu) | (s[0] >> 6 & 0x03030303u) << 4};
    const uint32_t minima[2] = {s[1] & 0x3F3F3F3Fu, (s[2] >> 4 & 0x0F0F0F0Fu) | (s[1] >> 6 & 0x03030303u) << 4};
    ScaledBytes(reinterpret_cast<const uint8_t*>(scales), 8, factor, to.scale);
    ScaledBytes(reinterpret_cast<const uint8_t*>(minima), 8, -minimum, to.offset);
}

// Unpacks groups 2 j and 2 j + 1 from the low and high nibbles of the 32 bytes at from[32 j]; applies
// finish(nibbles, group, i) to each vector.
template<class Finish>
HWY_INLINE void UnpackNibblePairs(const uint8_t* HWY_RESTRICT from, int8_t* HWY_RESTRICT to, const Finish& finish)
{
    const Bytes32 d;
    const int lanes = static_cast<int>(hn::Lanes(d));
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j)
        for (int i = 0; i < 32; i += lanes) {
            const auto bytes = hn::LoadU(d, from + 32 * j + i);
            StoreQ(d, finish(BitsOf<0>(d, bytes, 15), 2 * j, i), to + 64 * j + i);
            StoreQ(d, finish(BitsOf<4>(d, bytes, 15), 2 * j + 1, i), to + 64 * j + 32 + i);
        }
}

template<>
struct BlocksOf<DType::Q4_K> : SuperBlocks<BlockQ4_K, 32, true> {
    static HWY_INLINE void Unpack(const std::byte* block, const UnpackedTo& to)
    {
        const auto* b = reinterpret_cast<const uint8_t*>(block);
        SixBitScales(b + offsetof(BlockQ4_K, scales), F16At(b), F16At(b + offsetof(BlockQ4_K, m)), to);
        UnpackNibblePairs(b + offsetof(BlockQ4_K, q), to.q,
                          [](auto nibbles, int, int) HWY_ATTR { return nibbles; });
    }
};

template<>
struct BlocksOf<DType::Q5_K> : SuperBlocks<BlockQ5_K, 32, true> {
    static HWY_INLINE void Unpack(const std::byte* block, const UnpackedTo& to)
    {
        const auto* b = reinterpret_cast<const uint8_t*>(block);
        SixBitScales(b + offsetof(BlockQ5_K, scales), F16At(b), F16At(b + offsetof(BlockQ5_K, m)), to);
        const Bytes32 d;
        UnpackNibblePairs(b + offsetof(BlockQ5_K, q), to.q, [&](auto nibbles, int group, int i) HWY_ATTR {
            const auto fifth = hn::LoadU(d, b + offsetof(BlockQ5_K, fifth) + i);
            return hn::Or(nibbles, WhereBit(d, fifth, hn::Set(d, static_cast<uint8_t>(1 << group)), 16));
        });
    }
};

template<>
struct BlocksOf<DType::Q6_K> : SuperBlocks<BlockQ6_K, 16, false> {
    static HWY_INLINE void Unpack(const std::byte* block, const UnpackedTo& to)
    {
        const auto* b = reinterpret_cast<const uint8_t*>(block);
        ScaledBytes(reinterpret_cast<const int8_t*>(b + offsetof(BlockQ6_K, scales)), 16,
                    F16At(b + offsetof(BlockQ6_K, d)), to.scale);
        for (int half = 0; half < 2; ++half)
            UnpackHalf(b + 64 * half, b + offsetof(BlockQ6_K, high) + 32 * half, to.q + 128 * half);
    }

private:
    static HWY_INLINE void UnpackHalf(const uint8_t* HWY_RESTRICT low, const uint8_t* HWY_RESTRICT high,
                                      int8_t* HWY_RESTRICT to)
    {
        const Bytes32 d;
        const int lanes = static_cast<int>(hn::Lanes(d));
        const auto put = [&](auto nibbles, auto pairs, int8_t* at)
                             HWY_ATTR { StoreQ(d, hn::Sub(hn::Or(nibbles, pairs), hn::Set(d, uint8_t{32})), at); };
        for (int i = 0; i < 32; i += lanes) {
            const auto first = hn::LoadU(d, low + i), second = hn::LoadU(d, low + 32 + i);
            const auto pairs = hn::LoadU(d, high + i);
            put(BitsOf<0>(d, first, 15), BitsOf<-4>(d, pairs, 0x30), to + i);
            put(BitsOf<0>(d, second, 15), BitsOf<-2>(d, pairs, 0x30), to + 32 + i);
            put(BitsOf<4>(d, first, 15), BitsOf<0>(d, pairs, 0x30), to + 64 + i);
            put(BitsOf<4>(d, second, 15), BitsOf<2>(d, pairs, 0x30), to + 96 + i);
        }
    }
};

template<>
struct BlocksOf<DType::IQ4_XS> : SuperBlocks<BlockIQ4_XS, 32, false> {
    static HWY_INLINE void Unpack(const std::byte* block, const UnpackedTo& to)
    {
        const auto* b = reinterpret_cast<const uint8_t*>(block);
        uint16_t high;
        std::memcpy(&high, b + offsetof(BlockIQ4_XS, high_scales), sizeof high);
        const uint8_t* low = b + offsetof(BlockIQ4_XS, low_scales);
        HWY_ALIGN int8_t scales[8];
        for (int g = 0; g < 8; ++g)
            scales[g] = static_cast<int8_t>(((low[g / 2] >> (g % 2 * 4) & 15) | (high >> (2 * g) & 3) << 4) - 32);
        ScaledBytes(scales, 8, F16At(b), to.scale);
        for (int g = 0; g < 8; ++g)
            LookUpNibbles(b + offsetof(BlockIQ4_XS, q) + 16 * g, iq4_values, to.q + 32 * g);
    }
};

#endif
} // namespace HWY_NAMESPACE
} // namespace palimpsest::kernels
HWY_AFTER_NAMESPACE();

#endif
