// The short vector types of CUDA, with their alignments.
#pragma once

#define SIMT_VECTORS(Element, name)                                                                                \
    struct alignas(2 * sizeof(Element)) name##2                                                                    \
    {                                                                                                              \
        Element x, y;                                                                                              \
    };                                                                                                             \
    struct name##3                                                                                                 \
    {                                                                                                              \
        Element x, y, z;                                                                                           \
    };                                                                                                             \
    struct alignas(sizeof(Element) < 8 ? 4 * sizeof(Element) : 16) name##4                                         \
    {                                                                                                              \
        Element x, y, z, w;                                                                                        \
    };                                                                                                             \
    constexpr name##2 make_##name##2(Element x, Element y)                                                         \
    {                                                                                                              \
        return {x, y};                                                                                             \
    }                                                                                                              \
    constexpr name##3 make_##name##3(Element x, Element y, Element z)                                              \
    {                                                                                                              \
        return {x, y, z};                                                                                          \
    }                                                                                                              \
    constexpr name##4 make_##name##4(Element x, Element y, Element z, Element w)                                   \
    {                                                                                                              \
        return {x, y, z, w};                                                                                       \
    }

SIMT_VECTORS(signed char, char)
SIMT_VECTORS(unsigned char, uchar)
SIMT_VECTORS(short, short)
SIMT_VECTORS(unsigned short, ushort)
SIMT_VECTORS(int, int)
SIMT_VECTORS(unsigned int, uint)
SIMT_VECTORS(long long, longlong)
SIMT_VECTORS(unsigned long long, ulonglong)
SIMT_VECTORS(float, float)
SIMT_VECTORS(double, double)
#undef SIMT_VECTORS

struct dim3 {
    constexpr dim3(unsigned int in_x = 1, unsigned int in_y = 1, unsigned int in_z = 1) : x(in_x), y(in_y), z(in_z)
    {
    }
    unsigned int x, y, z;
};
