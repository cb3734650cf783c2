// Unpacks blocks of 32 weights with one scale. Q8_0, which has kernels of its own, is in q8_0-inl.h.
//
// Included once per SIMD target; see hwy/foreach_target.h for the guard.
#if defined(PALIMPSEST_KERNELS_CPU_SMALL_BLOCKS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef PALIMPSEST_KERNELS_CPU_SMALL_BLOCKS_INL_H
#undef PALIMPSEST_KERNELS_CPU_SMALL_BLOCKS_INL_H
#else
#define PALIMPSEST_KERNELS_CPU_SMALL_BLOCKS_INL_H
#endif

#include "kernels/base/dequantise.h"
#include "kernels/cpu/packed_bytes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace palimpsest::kernels {
namespace HWY_NAMESPACE {
#if HWY_TARGET != HWY_SCALAR

// Describes a type's blocks (how elements share scales), and unpacks a block with Unpack(), which writes offsets
// only if `has_offset`.
template<DType type>
struct BlocksOf;

// Destination of an unpacked block: its elements, and the scale and offset of each group.
struct UnpackedTo {
    int8_t* HWY_RESTRICT q;
    float* HWY_RESTRICT scale;
    float* HWY_RESTRICT offset;
};

template<class Block, bool offset>
struct SmallBlocks {
    static constexpr int elements = small_block, group = small_block, bytes = sizeof(Block);
    static constexpr bool has_offset = offset;
    static_assert(offsetof(Block, q) + 16 == sizeof(Block));
    static HWY_INLINE const uint8_t* Nibbles(const std::byte* block)
    {
        return reinterpret_cast<const uint8_t*>(block) + offsetof(Block, q);
    }
};

// The fifth bits of 32 elements. For the first or second 16 elements, returns bytes that are 16 where the bit is
// set, else 0.
struct FifthBits {
    explicit HWY_INLINE FifthBits(const std::byte* from)
    {
        uint32_t bits;
        std::memcpy(&bits, from, sizeof bits);
        const hn::Repartition<uint32_t, Bytes16> u32;
        all = hn::BitCast(Bytes16(), hn::Set(u32, bits));
    }
    HWY_INLINE hn::Vec<Bytes16> operator()(int half) const
    {
        HWY_ALIGN static constexpr uint8_t byte_of[2][16] = {{0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1},
                                                             {2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3}};
        HWY_ALIGN static constexpr uint8_t bit_of[16] = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
        const Bytes16 d;
        const auto spread = hn::TableLookupBytes(all, hn::Load(d, byte_of[half]));
        return WhereBit(d, spread, hn::Load(d, bit_of), 16);
    }
    hn::Vec<Bytes16> all;
};

template<>
struct BlocksOf<DType::Q4_0> : SmallBlocks<BlockQ4_0, false> {
    static HWY_INLINE void Unpack(const std::byte* block, const UnpackedTo& to)
    {
        const Bytes16 d;
        *to.scale = F16At(block);
        UnpackNibbles(Nibbles(block), to.q,
                      [&](auto nibbles, int) HWY_ATTR { return hn::Sub(nibbles, hn::Set(d, uint8_t{8})); });
    }
};

template<>
struct BlocksOf<DType::Q4_1> : SmallBlocks<BlockQ4_1, true> {
    static HWY_INLINE void Unpack(const std::byte* block, const UnpackedTo& to)
    {
        *to.scale = F16At(block);
        *to.offset = F16At(block + offsetof(BlockQ4_1, m));
        UnpackNibbles(Nibbles(block), to.q, [](auto nibbles, int) HWY_ATTR { return nibbles; });
    }
};

template<>
struct BlocksOf<DType::Q5_0> : SmallBlocks<BlockQ5_0, false> {
    static HWY_INLINE void Unpack(const std::byte* block, const UnpackedTo& to)
    {
        const Bytes16 d;
        const FifthBits fifth(block + offsetof(BlockQ5_0, fifth));
        *to.scale = F16At(block);
        UnpackNibbles(Nibbles(block), to.q, [&](auto nibbles, int half) HWY_ATTR {
            return hn::Sub(hn::Or(nibbles, fifth(half)), hn::Set(d, uint8_t{16}));
        });
    }
};

template<>
struct BlocksOf<DType::Q5_1> : SmallBlocks<BlockQ5_1, true> {
    static HWY_INLINE void Unpack(const std::byte* block, const UnpackedTo& to)
    {
        const FifthBits fifth(block + offsetof(BlockQ5_1, fifth));
        *to.scale = F16At(block);
        *to.offset = F16At(block + offsetof(BlockQ5_1, m));
        UnpackNibbles(Nibbles(block), to.q,
                      [&](auto nibbles, int half) HWY_ATTR { return hn::Or(nibbles, fifth(half)); });
    }
};

template<>
struct BlocksOf<DType::IQ4_NL> : SmallBlocks<BlockIQ4_NL, false> {
    static HWY_INLINE void Unpack(const std::byte* block, const UnpackedTo& to)
    {
        *to.scale = F16At(block);
        LookUpNibbles(Nibbles(block), iq4_values, to.q);
    }
};

template<>
struct BlocksOf<DType::MXFP4> : SmallBlocks<BlockMXFP4, false> {
    static HWY_INLINE void Unpack(const std::byte* block, const UnpackedTo& to)
    {
        *to.scale = mxfp4_scale(std::to_integer<uint8_t>(*block));
        LookUpNibbles(Nibbles(block), mxfp4_values, to.q);
    }
};

#endif
} // namespace HWY_NAMESPACE
} // namespace palimpsest::kernels
HWY_AFTER_NAMESPACE();

#endif
