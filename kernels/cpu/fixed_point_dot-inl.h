// Dot products of quantised rows with activations in fixed point (fixed_point.h), on processors with AVX-512 VNNI.
//
// Included once per SIMD target; see hwy/foreach_target.h for the guard. It is empty below the target AVX3. VNNI is
// not part of AVX3, so the instruction is written as inline assembly, and callers check the processor first.
#if defined(PALIMPSEST_KERNELS_CPU_FIXED_POINT_DOT_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef PALIMPSEST_KERNELS_CPU_FIXED_POINT_DOT_INL_H
#undef PALIMPSEST_KERNELS_CPU_FIXED_POINT_DOT_INL_H
#else
#define PALIMPSEST_KERNELS_CPU_FIXED_POINT_DOT_INL_H
#endif

#include <algorithm>
#include <limits>

#include "hwy/cache_control.h"
#include "kernels/cpu/fixed_point.h"
#include "kernels/cpu/super_blocks-inl.h"

HWY_BEFORE_NAMESPACE();
namespace palimpsest::kernels {
namespace HWY_NAMESPACE {
#if HWY_TARGET <= HWY_AVX3 // AVX3, and the better targets of newer versions of Highway

using cpu::CodeOrder;
using cpu::FixedPoint128;

// Parameters of a weight type: the order of its codes, and the number that is subtracted from every code.
struct FixedPointCodes {
    CodeOrder order;
    int offset;
};

// Adds to each 32-bit lane of `sum` the products of its four unsigned codes and four signed bytes of `limbs`.
HWY_INLINE void AddProducts(__m512i& sum, __m512i codes, const int8_t* limbs)
{
    asm("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(codes), "m"(*reinterpret_cast<const __m512i*>(limbs)));
}

HWY_INLINE __m512i LoadBytes(const void* from)
{
    return _mm512_loadu_si512(from);
}

// The exact per-lane sums of products of one vector of codes with 24-bit numbers.
HWY_INLINE __m512i LaneSums(__m512i codes, const FixedPoint128& x, int part)
{
    __m512i sum = _mm512_setzero_si512();
    AddProducts(sum, codes, x.limbs[2][part]);
    sum = _mm512_slli_epi32(sum, 8);
    AddProducts(sum, codes, x.limbs[1][part]);
    sum = _mm512_slli_epi32(sum, 8);
    AddProducts(sum, codes, x.limbs[0][part]);
    return sum;
}

// Like the above, for two vectors whose lanes belong to the same blocks, and are added up.
HWY_INLINE __m512i LaneSums(__m512i low, __m512i high, const FixedPoint128& x)
{
    __m512i sum = _mm512_setzero_si512();
    for (int limb = 2; limb >= 0; --limb) {
        AddProducts(sum, low, x.limbs[limb][0]);
        AddProducts(sum, high, x.limbs[limb][1]);
        if (limb > 0) sum = _mm512_slli_epi32(sum, 8);
    }
    return sum;
}

HWY_INLINE __m512i Nibbles(__m512i bytes, bool high)
{
    const __m512i mask = _mm512_set1_epi8(15);
    return _mm512_and_si512(high ? _mm512_srli_epi16(bytes, 4) : bytes, mask);
}

HWY_INLINE __m512i Corrected(__m512i sums, const int32_t (&correction)[16])
{
    return _mm512_add_epi32(sums, _mm512_load_si512(correction));
}

// Returns the nibbles of `count` <= 4 blocks of 32 elements in one vector. If `count` < 4, the other lanes repeat
// the nibbles of the last block, and HalvesOfFour gives them scales of 0.
template<class Block, int count>
HWY_INLINE __m512i NibblesOfFour(const std::byte* w)
{
    const auto* q = w + offsetof(Block, q);
    const auto load = [&](int block) HWY_ATTR {
        const int at = std::min(block, count - 1) * static_cast<int>(sizeof(Block));
        return _mm_loadu_si128(reinterpret_cast<const __m128i*>(q + at));
    };
    __m512i all = _mm512_castsi128_si512(load(0));
    all = _mm512_mask_broadcast_i32x4(all, 0x00F0, load(1));
    all = _mm512_mask_broadcast_i32x4(all, 0x0F00, load(2));
    return _mm512_mask_broadcast_i32x4(all, 0xF000, load(3));
}

template<class Block, int count>
HWY_INLINE __m128 HalvesOfFour(const std::byte* w, size_t at)
{
    uint64_t halves = 0;
    for (int block = count - 1; block >= 0; --block) {
        uint16_t half;
        std::memcpy(&half, w + static_cast<size_t>(block) * sizeof(Block) + at, sizeof half);
        halves = halves << 16 | half;
    }
    return _mm_cvtph_ps(_mm_cvtsi64_si128(static_cast<long long>(halves)));
}

// Partial sums of one row's dot product. `products` and `more_products` are independent chains, to hide latency.
struct FixedPointSums {
    __m512 products, more_products;
    __m256 offsets;
};

HWY_INLINE void AddScaled(__m512& products, __m512i lanes, __m512 scales)
{
    products = _mm512_fmadd_ps(_mm512_cvtepi32_ps(lanes), scales, products);
}

// Add() adds the products of the 256 weights at `w` with x[0] and x[1]; sums32 are the sums of 32 of the same
// activations.
template<DType type>
struct FixedPointStep;

template<class Block, bool has_offset>
struct SmallStep {
    static HWY_INLINE void Add(const std::byte* w, const FixedPoint128* x, const float* sums32, FixedPointSums& to)
    {
        AddFour<4>(w, x[0], to.products);
        AddFour<4>(w + 4 * sizeof(Block), x[1], to.more_products);
        if constexpr (has_offset) {
            const __m256 offsets =
                _mm256_setr_m128(HalvesOfFour<Block, 4>(w, 2), HalvesOfFour<Block, 4>(w + 4 * sizeof(Block), 2));
            to.offsets = _mm256_fmadd_ps(offsets, _mm256_loadu_ps(sums32), to.offsets);
        }
    }

    // Adds the products of the last blocks of a row, fewer than eight.
    static HWY_INLINE void AddRest(const std::byte* w, int64_t blocks, const FixedPoint128* x, const float* sums32,
                                   FixedPointSums& to)
    {
        if (blocks >= 4) {
            AddSome<4>(w, *x, sums32, to);
            w += 4 * sizeof(Block), ++x, sums32 += has_offset ? 4 : 0;
        }
        if (blocks % 4 == 1) AddSome<1>(w, *x, sums32, to);
        if (blocks % 4 == 2) AddSome<2>(w, *x, sums32, to);
        if (blocks % 4 == 3) AddSome<3>(w, *x, sums32, to);
    }

private:
    template<int count>
    static HWY_INLINE void AddFour(const std::byte* w, const FixedPoint128& x, __m512& products)
    {
        const __m512i four = _mm512_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
        const __m512i bytes = NibblesOfFour<Block, count>(w);
        __m512i lanes = LaneSums(Nibbles(bytes, false), Nibbles(bytes, true), x);
        if constexpr (!has_offset) lanes = Corrected(lanes, x.correction[0]);
        const __m128 scales = _mm_mul_ps(HalvesOfFour<Block, count>(w, 0), _mm_set1_ps(x.scale));
        AddScaled(products, lanes, _mm512_permutexvar_ps(four, _mm512_castps128_ps512(scales)));
    }

    template<int count>
    static HWY_INLINE void AddSome(const std::byte* w, const FixedPoint128& x, const float* sums32,
                                   FixedPointSums& to)
    {
        AddFour<count>(w, x, to.products);
        if constexpr (has_offset) {
            const __m128 sums = _mm_maskz_loadu_ps(static_cast<__mmask8>((1 << count) - 1), sums32);
            const __m128 offsets = HalvesOfFour<Block, count>(w, 2);
            to.offsets = _mm256_fmadd_ps(_mm256_zextps128_ps256(offsets), _mm256_zextps128_ps256(sums), to.offsets);
        }
    }
};

template<>
struct FixedPointStep<DType::Q4_0> : SmallStep<BlockQ4_0, false> {
};
template<>
struct FixedPointStep<DType::Q4_1> : SmallStep<BlockQ4_1, true> {
};

// Add() of Q4_K and Q5_K. `codes(half, high)` returns the low or high nibbles of one half of a block, for Q5_K with
// their fifth bits.
template<class Block, class Codes>
HWY_INLINE void AddSixBitGroups(const std::byte* w, const FixedPoint128* x, const float* sums32, const Codes& codes,
                                FixedPointSums& to)
{
    UnpackedWeights weights;
    SixBitScales(reinterpret_cast<const uint8_t*>(w) + offsetof(Block, scales), F16At(w),
                 F16At(w + offsetof(Block, m)), {nullptr, weights.scale, weights.offset});
    to.offsets = _mm256_fmadd_ps(_mm256_load_ps(weights.offset), _mm256_loadu_ps(sums32), to.offsets);
    const __m256 of_x = _mm256_setr_m128(_mm_set1_ps(x[0].scale), _mm_set1_ps(x[1].scale));
    const __m512 scales = _mm512_castps256_ps512(_mm256_mul_ps(_mm256_load_ps(weights.scale), of_x));
    const __m512i even = _mm512_setr_epi32(0, 0, 0, 0, 0, 0, 0, 0, 2, 2, 2, 2, 2, 2, 2, 2);
#pragma GCC unroll 2
    for (int half = 0; half < 2; ++half) {
        const __m512i low = _mm512_add_epi32(even, _mm512_set1_epi32(4 * half));
        const __m512i high = _mm512_add_epi32(low, _mm512_set1_epi32(1));
        AddScaled(to.products, LaneSums(codes(half, false), x[half], 0), _mm512_permutexvar_ps(low, scales));
        AddScaled(to.more_products, LaneSums(codes(half, true), x[half], 1), _mm512_permutexvar_ps(high, scales));
    }
}

template<>
struct FixedPointStep<DType::Q4_K> {
    static HWY_INLINE void Add(const std::byte* w, const FixedPoint128* x, const float* sums32, FixedPointSums& to)
    {
        const auto codes = [&](int half, bool high) HWY_ATTR {
            return Nibbles(LoadBytes(w + offsetof(BlockQ4_K, q) + 64 * half), high);
        };
        AddSixBitGroups<BlockQ4_K>(w, x, sums32, codes, to);
    }
};

template<>
struct FixedPointStep<DType::Q5_K> {
    static HWY_INLINE void Add(const std::byte* w, const FixedPoint128* x, const float* sums32, FixedPointSums& to)
    {
        const auto* fifth = reinterpret_cast<const __m256i*>(w + offsetof(BlockQ5_K, fifth));
        const __m512i bits = _mm512_broadcast_i64x4(_mm256_loadu_si256(fifth));
        const auto codes = [&](int half, bool high) HWY_ATTR {
            const int group = 4 * half + (high ? 1 : 0); // of the vector's lower half; group + 2: of its upper half
            const __m512i bit = _mm512_mask_set1_epi8(_mm512_set1_epi8(static_cast<char>(1 << group)),
                                                      0xFFFFFFFF00000000u, static_cast<char>(4 << group));
            const __m512i nibbles = Nibbles(LoadBytes(w + offsetof(BlockQ5_K, q) + 64 * half), high);
            return _mm512_mask_add_epi8(nibbles, _mm512_test_epi8_mask(bits, bit), nibbles, _mm512_set1_epi8(16));
        };
        AddSixBitGroups<BlockQ5_K>(w, x, sums32, codes, to);
    }
};

template<>
struct FixedPointStep<DType::Q6_K> {
    static HWY_INLINE void Add(const std::byte* w, const FixedPoint128* x, const float*, FixedPointSums& to)
    {
        HWY_ALIGN float scale[16];
        ScaledBytes(reinterpret_cast<const int8_t*>(w + offsetof(BlockQ6_K, scales)), 16,
                    F16At(w + offsetof(BlockQ6_K, d)), scale);
        const __m512 of_x = _mm512_mask_mov_ps(_mm512_set1_ps(x[0].scale), 0xFF00, _mm512_set1_ps(x[1].scale));
        const __m512 scales = _mm512_mul_ps(_mm512_load_ps(scale), of_x);
        const __m512i four = _mm512_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
#pragma GCC unroll 2
        for (int half = 0; half < 2; ++half) {
            const __m512i bytes = LoadBytes(w + 64 * half);
            const auto* high = reinterpret_cast<const __m256i*>(w + offsetof(BlockQ6_K, high) + 32 * half);
            const __m512i pairs = _mm512_broadcast_i64x4(_mm256_loadu_si256(high));
            const __m512i at = _mm512_add_epi32(four, _mm512_set1_epi32(8 * half));
            const __m512i later = _mm512_add_epi32(at, _mm512_set1_epi32(4));
            const __m512i low_codes = WithPairs(Nibbles(bytes, false), _mm512_sllv_epi16(pairs, Shifts(4, 2)));
            const __m512i high_codes = WithPairs(Nibbles(bytes, true), _mm512_srlv_epi16(pairs, Shifts(0, 2)));
            AddScaled(to.products, Corrected(LaneSums(low_codes, x[half], 0), x[half].correction[0]),
                      _mm512_permutexvar_ps(at, scales));
            AddScaled(to.more_products, Corrected(LaneSums(high_codes, x[half], 1), x[half].correction[1]),
                      _mm512_permutexvar_ps(later, scales));
        }
    }

private:
    static HWY_INLINE __m512i Shifts(short lower, short upper) // for the lower and the upper half of the vector
    {
        return _mm512_mask_set1_epi16(_mm512_set1_epi16(lower), 0xFFFF0000u, upper);
    }
    static HWY_INLINE __m512i WithPairs(__m512i nibbles, __m512i shifted)
    {
        return _mm512_or_si512(nibbles, _mm512_and_si512(shifted, _mm512_set1_epi8(0x30)));
    }
};

// The dot product of a row.
template<DType type>
float DotFixedPoint(const std::byte* HWY_RESTRICT w, const FixedPoint128* x, const float* sums32, int64_t cols)
{
    const int64_t bytes = super_block / BlocksOf<type>::elements * BlocksOf<type>::bytes;
    constexpr int64_t ahead = 2048; // bytes
    FixedPointSums sums{_mm512_setzero_ps(), _mm512_setzero_ps(), _mm256_setzero_ps()};
    int64_t i = 0;
    for (; i + super_block <= cols; i += super_block, w += bytes, x += 2) {
        for (int64_t line = 0; line < bytes; line += 64)
            hwy::Prefetch(w + ahead + line);
        FixedPointStep<type>::Add(w, x, sums32, sums);
        if constexpr (BlocksOf<type>::has_offset) sums32 += super_block / small_block;
    }
    if constexpr (BlocksOf<type>::elements == small_block)
        if (i < cols) FixedPointStep<type>::AddRest(w, (cols - i) / small_block, x, sums32, sums);
    const hn::CappedTag<float, 8> d8;
    const hn::ScalableTag<float> d;
    const auto products = _mm512_add_ps(sums.products, sums.more_products);
    return hn::GetLane(hn::SumOfLanes(d, hn::Vec<decltype(d)>{products})) +
           hn::GetLane(hn::SumOfLanes(d8, hn::Vec<decltype(d8)>{sums.offsets}));
}

// Where the elements [16 * run, 16 * run + 16) are stored: in vector `part`, from byte `at` on.
HWY_INLINE void PlaceOfRun(CodeOrder order, int run, int& part, int& at)
{
    switch (order) {
    case CodeOrder::Halves16:
        part = run % 2;
        at = run / 2 * 16;
        return;
    case CodeOrder::Groups32:
        part = run / 2 % 2;
        at = run / 4 * 32 + run % 2 * 16;
        return;
    case CodeOrder::Natural:
        part = run / 4;
        at = run % 4 * 16;
        return;
    }
}

HWY_INLINE FixedPointCodes CodesOf(DType type)
{
    if (type == DType::Q4_0) return {CodeOrder::Halves16, 8};
    if (type == DType::Q4_1) return {CodeOrder::Halves16, 0};
    if (type == DType::Q6_K) return {CodeOrder::Natural, 32};
    return {CodeOrder::Groups32, 0};
}

// `to`: the power of two by which 128 elements are multiplied; `back`: its inverse.
struct FixedPointScale {
    float to, back;
};

HWY_INLINE FixedPointScale ScaleOf(const float* x)
{
    __m512i largest = _mm512_setzero_si512(); // bits of max |x|; as integers, they are ordered like the floats
    for (int i = 0; i < 128; i += 16)
        largest = _mm512_max_epi32(largest, _mm512_and_si512(LoadBytes(x + i), _mm512_set1_epi32(0x7FFFFFFF)));
    const int bits = _mm512_reduce_max_epi32(largest);
    if (bits >= 0x7F800000) return {0.0f, std::numeric_limits<float>::quiet_NaN()};
    const int with_room = std::bit_cast<int>(std::bit_cast<float>(bits) * 1.004f) >> 23;
    const int exponent = std::max(with_room - 126, -103); // of the smallest power of two above 1.004 max |x|
    return {std::bit_cast<float>((150 - exponent) << 23), std::bit_cast<float>((exponent + 104) << 23)};
}

// Returns elements [i, i + 128) of a row; if the row ends before, a copy in `padded`, padded with zeros.
HWY_INLINE const float* Next128(const float* x, int64_t i, int64_t cols, float* HWY_RESTRICT padded)
{
    if (i + 128 <= cols) return x + i;
    std::fill_n(padded, 128, 0.0f);
    std::copy(x + i, x + cols, padded);
    return padded;
}

// Whether one of some 128 elements exceeds the sum of the others, so that the others would keep only a few bits.
HWY_INLINE bool HasOutlier(const float* HWY_RESTRICT x, int64_t cols)
{
    HWY_ALIGN float padded[128];
    for (int64_t i = 0; i < cols; i += 128) {
        const float* from = Next128(x, i, cols, padded);
        __m512 sum = _mm512_setzero_ps(), largest = _mm512_setzero_ps();
        for (int j = 0; j < 128; j += 16) {
            const __m512 magnitude = _mm512_abs_ps(_mm512_loadu_ps(from + j));
            sum = _mm512_add_ps(sum, magnitude);
            largest = _mm512_max_ps(largest, magnitude);
        }
        if (_mm512_reduce_max_ps(largest) > 0.5f * _mm512_reduce_add_ps(sum)) return true;
    }
    return false;
}

// Converts 128 elements, in the order of a type's codes.
HWY_INLINE void ToFixedPoint128(const float* HWY_RESTRICT x, const FixedPointCodes& codes, FixedPoint128& to)
{
    const FixedPointScale scale = ScaleOf(x);
    std::memset(&to, 0, sizeof to);
    to.scale = scale.back;
    if (scale.to == 0.0f) return; // an element is not finite: to.scale is NaN, and so is every product
    for (int run = 0; run < 8; ++run) {
        int part = 0, at = 0;
        PlaceOfRun(codes.order, run, part, at);
        __m512i left = _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_loadu_ps(x + 16 * run), _mm512_set1_ps(scale.to)));
        HWY_ALIGN int32_t whole[16];
        _mm512_store_si512(whole, left);
        // Types without groups of 16 have one sum for both vectors.
        int32_t* correction = to.correction[codes.order == CodeOrder::Natural ? part : 0] + at / 4;
        for (int j = 0; j < 16; ++j)
            correction[j / 4] -= codes.offset * whole[j];
        for (auto& limb : to.limbs) {
            _mm_store_si128(reinterpret_cast<__m128i*>(limb[part] + at), _mm512_cvtepi32_epi8(left));
            const __m512i lowest = _mm512_srai_epi32(_mm512_slli_epi32(left, 24), 24);
            left = _mm512_srai_epi32(_mm512_sub_epi32(left, lowest), 8);
        }
    }
}

void ToFixedPoint(const float* HWY_RESTRICT x, int64_t cols, DType type, FixedPoint128* HWY_RESTRICT to)
{
    HWY_ALIGN float padded[128];
    for (int64_t i = 0; i < cols; i += 128, ++to)
        ToFixedPoint128(Next128(x, i, cols, padded), CodesOf(type), *to);
}
#endif
} // namespace HWY_NAMESPACE
} // namespace palimpsest::kernels
HWY_AFTER_NAMESPACE();

#endif
