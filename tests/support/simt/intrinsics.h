// CUDA's built-in functions of device code, for the emulator.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <math.h>
#include <source_location>
#include <type_traits>

#include "tests/support/simt/grid.h"

namespace simt {

using Where = std::source_location;

template<class T>
uint64_t to_bits(T value)
{
    static_assert(std::is_arithmetic_v<T> && sizeof(T) <= sizeof(uint64_t));
    uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof value);
    return bits;
}

template<class T>
T from_bits(uint64_t bits)
{
    T value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

inline void require_full(unsigned mask, const Where& where)
{
    if (mask != 0xffffffffu) misuse("a warp operation has a mask that is not full", where);
}

// Returns the value of lane `source(lane within the segment, width)`; the lane's own value if that is out of range.
template<class T, class Source>
T shuffle(unsigned mask, T value, int width, const Where& where, const Source& source)
{
    require_full(mask, where);
    if (width < 1 || width > 32 || !std::has_single_bit(static_cast<unsigned>(width)))
        misuse("a shuffle's width is no power of two up to 32", where);
    const int at = static_cast<int>(lane()), first = at / width * width, from = source(at - first, width);
    const uint64_t* brought = exchange(to_bits(value), where);
    return from < 0 || from >= width ? value : from_bits<T>(brought[first + from]);
}

inline unsigned ballot(unsigned mask, bool yes, const Where& where)
{
    require_full(mask, where);
    const uint64_t* brought = simt::exchange(static_cast<uint64_t>(yes), where);
    unsigned all = 0;
    for (unsigned i = 0; i < 32; ++i)
        all |= static_cast<unsigned>(brought[i]) << i;
    return all;
}

} // namespace simt

inline void __syncthreads(const simt::Where& where = simt::Where::current())
{
    simt::meet_block(where);
}

inline void __syncwarp(unsigned mask = 0xffffffffu, const simt::Where& where = simt::Where::current())
{
    simt::require_full(mask, where);
    simt::exchange(0, where);
}

template<class T>
T __shfl_sync(unsigned mask, T value, int from, int width = 32, const simt::Where& where = simt::Where::current())
{
    return simt::shuffle(mask, value, width, where, [=](int, int of) { return from & (of - 1); });
}

template<class T>
T __shfl_up_sync(unsigned mask, T value, unsigned by, int width = 32,
                 const simt::Where& where = simt::Where::current())
{
    return simt::shuffle(mask, value, width, where, [=](int at, int) { return at - static_cast<int>(by); });
}

template<class T>
T __shfl_down_sync(unsigned mask, T value, unsigned by, int width = 32,
                   const simt::Where& where = simt::Where::current())
{
    return simt::shuffle(mask, value, width, where, [=](int at, int) { return at + static_cast<int>(by); });
}

template<class T>
T __shfl_xor_sync(unsigned mask, T value, int by, int width = 32, const simt::Where& where = simt::Where::current())
{
    return simt::shuffle(mask, value, width, where, [=](int at, int) { return at ^ by; });
}

inline unsigned __ballot_sync(unsigned mask, int yes, const simt::Where& where = simt::Where::current())
{
    return simt::ballot(mask, yes != 0, where);
}

inline int __any_sync(unsigned mask, int yes, const simt::Where& where = simt::Where::current())
{
    return simt::ballot(mask, yes != 0, where) != 0;
}

inline int __all_sync(unsigned mask, int yes, const simt::Where& where = simt::Where::current())
{
    return simt::ballot(mask, yes != 0, where) == 0xffffffffu;
}

[[noreturn]] inline void __trap(const simt::Where& where = simt::Where::current())
{
    simt::misuse("a kernel stopped itself", where);
}

inline void __threadfence() {}
inline void __threadfence_block() {}

// Threads run one at a time, so plain memory operations are atomic. All return the old value.
inline uint32_t atomicAdd(uint32_t* at, uint32_t x)
{
    const uint32_t old = *at;
    *at = old + x;
    return old;
}

inline uint32_t atomicMax(uint32_t* at, uint32_t x)
{
    const uint32_t old = *at;
    *at = old < x ? x : old;
    return old;
}

inline uint32_t atomicMin(uint32_t* at, uint32_t x)
{
    const uint32_t old = *at;
    *at = x < old ? x : old;
    return old;
}

inline uint32_t atomicOr(uint32_t* at, uint32_t x)
{
    const uint32_t old = *at;
    *at = old | x;
    return old;
}

template<class T>
T __ldg(const T* at)
{
    return *at;
}

template<class T>
T __ldcs(const T* at)
{
    return *at;
}

template<class T>
T __ldcg(const T* at)
{
    return *at;
}

inline float __expf(float x)
{
    return expf(x);
}
inline float __logf(float x)
{
    return logf(x);
}
inline float __fdividef(float x, float y)
{
    return x / y;
}
inline float rsqrtf(float x)
{
    return 1.0f / sqrtf(x);
}
inline double rsqrt(double x)
{
    return 1.0 / sqrt(x);
}
inline float __fadd_rn(float x, float y)
{
    return x + y;
}
inline float __fmul_rn(float x, float y)
{
    return x * y;
}
inline float __fdiv_rn(float x, float y)
{
    return x / y;
}
inline double __dadd_rn(double x, double y)
{
    return x + y;
}
inline double __dmul_rn(double x, double y)
{
    return x * y;
}
inline double __ddiv_rn(double x, double y)
{
    return x / y;
}
inline int __float2int_rn(float x)
{
    return static_cast<int>(lrintf(x));
}

inline int __popc(unsigned x)
{
    return std::popcount(x);
}
inline int __ffs(int x)
{
    return x == 0 ? 0 : std::countr_zero(static_cast<unsigned>(x)) + 1;
}
inline int __clz(int x)
{
    return std::countl_zero(static_cast<unsigned>(x));
}
inline unsigned __float_as_uint(float x)
{
    return std::bit_cast<unsigned>(x);
}
inline float __uint_as_float(unsigned x)
{
    return std::bit_cast<float>(x);
}
inline int __float_as_int(float x)
{
    return std::bit_cast<int>(x);
}
inline float __int_as_float(int x)
{
    return std::bit_cast<float>(x);
}
inline long long __double_as_longlong(double x)
{
    return std::bit_cast<long long>(x);
}

// Returns c + the sum of the four products of signed bytes of a and b.
inline int __dp4a(int a, int b, int c)
{
    for (int shift = 0; shift < 32; shift += 8)
        c += static_cast<int8_t>(static_cast<unsigned>(a) >> shift) *
             static_cast<int8_t>(static_cast<unsigned>(b) >> shift);
    return c;
}

// Byte i of the result is the byte of low (0 to 3) or high (4 to 7) that nibble i of the selector names. If bit 3
// of the nibble is set, all bits of byte i are the sign of that byte.
inline unsigned __byte_perm(unsigned low, unsigned high, unsigned selector)
{
    const uint64_t bytes = static_cast<uint64_t>(high) << 32 | low;
    unsigned result = 0;
    for (unsigned i = 0; i < 4; ++i) {
        const unsigned nibble = selector >> (4 * i) & 0xf;
        unsigned byte = static_cast<unsigned>(bytes >> (8 * (nibble & 7))) & 0xff;
        if ((nibble & 8) != 0) byte = (byte & 0x80) != 0 ? 0xff : 0;
        result |= byte << (8 * i);
    }
    return result;
}

#define SIMT_MIN_MAX(T)                                                                                            \
    constexpr T min(T a, T b)                                                                                      \
    {                                                                                                              \
        return b < a ? b : a;                                                                                      \
    }                                                                                                              \
    constexpr T max(T a, T b)                                                                                      \
    {                                                                                                              \
        return a < b ? b : a;                                                                                      \
    }
SIMT_MIN_MAX(int)
SIMT_MIN_MAX(unsigned int)
SIMT_MIN_MAX(long)
SIMT_MIN_MAX(unsigned long)
SIMT_MIN_MAX(long long)
SIMT_MIN_MAX(unsigned long long)
#undef SIMT_MIN_MAX
inline float min(float a, float b)
{
    return fminf(a, b);
}
inline float max(float a, float b)
{
    return fmaxf(a, b);
}
inline double min(double a, double b)
{
    return fmin(a, b);
}
inline double max(double a, double b)
{
    return fmax(a, b);
}
