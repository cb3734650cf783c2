// Weights in device memory, in planes that can be read with vector loads.
#pragma once

#include <cstdint>

#include "kernels/backend.h"
#include "kernels/cuda/linear/coding.h"

namespace palimpsest::kernels::cuda {

// Bytes per chunk (32 columns of a row) in each plane; `factors`: bytes per 8 chunks.
struct PlaneBytes {
    int64_t values = 0, high = 0, scales = 0, factors = 0;
};

constexpr PlaneBytes plane_bytes(DType type)
{
    if (type == DType::F32) return {.values = 4 * chunk_columns};
    if (type == DType::F16 || type == DType::BF16) return {.values = 2 * chunk_columns};
    if (type == DType::Q8_0) return {.values = chunk_columns, .scales = 2};
    const Coding coding = coding_of(type);
    return {.values = 4 * coding.low_bits,
            .high = 4 * coding.high_bits,
            .scales = coding.scale_bytes(),
            .factors = coding.factor_bytes()};
}

// F32, F16, BF16: `values` is [rows, stride] of that type. Q8_0: `values` is int8 [rows, stride], `scales` f16
// [rows, stride / 32]. All other types: see coding.h; planes that a type does not have are null. Rotary pairs are
// already half-split. Every row of `values` starts at a multiple of 16 bytes (Q2_K, Q3_K: 64 bytes).
struct WeightPlanes {
    DType type = DType::F32;
    const void* values = nullptr;
    const void* high = nullptr;
    const void* scales = nullptr;
    const void* factors = nullptr;
    int64_t rows = 0, cols = 0;
    int64_t stride = 0; // elements from row to row, a multiple of 32; quantised types: cols
};

// The rows from `first` on.
inline WeightPlanes rows_from(const WeightPlanes& planes, int64_t first)
{
    const PlaneBytes bytes = plane_bytes(planes.type);
    const int64_t chunks = first * (planes.stride / chunk_columns);
    const auto moved = [](const void* plane, int64_t by) {
        return plane == nullptr ? nullptr : static_cast<const unsigned char*>(plane) + by;
    };
    WeightPlanes rest = planes;
    rest.values = moved(planes.values, chunks * bytes.values);
    rest.high = moved(planes.high, chunks * bytes.high);
    rest.scales = moved(planes.scales, chunks * bytes.scales);
    rest.factors = moved(planes.factors, chunks / factor_chunks * bytes.factors);
    rest.rows = planes.rows - first;
    return rest;
}

// One WeightPlanes per part of the Weight; parts may have different types.
class CudaWeight : public Weight {
public:
    virtual std::span<const WeightPlanes> parts() const = 0;
};

} // namespace palimpsest::kernels::cuda
