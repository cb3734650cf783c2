// The CPU representation of a weight: pointers to the rows in the mapped file.
#pragma once

#include <span>
#include <vector>

#include "kernels/backend.h"

namespace palimpsest::kernels::cpu {

class CpuWeight final : public Weight {
public:
    // One of the matrices that are concatenated to the weight. `first_row` is the number of its first row in the
    // weight.
    struct Part {
        HostMatrix matrix;
        int64_t first_row = 0;
        int64_t stride = 0; // bytes between rows

        const std::byte* stored(int64_t row) const { return matrix.data + row * stride; }
        // Convert between the number of a row in the part, where rotary pairs are half-split, and of the stored
        // row, where they may be adjacent.
        int64_t stored_of(int64_t row) const;
        int64_t row_of(int64_t stored_row) const;
    };
    struct Row {
        DType type;
        const std::byte* data;
    };

    explicit CpuWeight(std::span<const HostMatrix> parts); // throws Error (Internal) for incompatible parts

    std::span<const Part> parts() const { return parts_; }
    Row row(int64_t r) const;

private:
    std::vector<Part> parts_;
};

inline const CpuWeight& on_cpu(const Weight* weight)
{
    return static_cast<const CpuWeight&>(*weight);
}

inline int64_t CpuWeight::Part::stored_of(int64_t row) const
{
    const int64_t d = matrix.paired_head_dim;
    if (d == 0) return row;
    const int64_t i = row % d, head = row - i;
    return head + (i < d / 2 ? 2 * i : 2 * (i - d / 2) + 1);
}

inline int64_t CpuWeight::Part::row_of(int64_t stored_row) const
{
    const int64_t d = matrix.paired_head_dim;
    if (d == 0) return stored_row;
    const int64_t i = stored_row % d, head = stored_row - i;
    return head + i / 2 + (i % 2) * (d / 2);
}

inline CpuWeight::Row CpuWeight::row(int64_t r) const
{
    const Part* part = parts_.data();
    while (r >= part->first_row + part->matrix.rows)
        ++part;
    return {part->matrix.type, part->stored(part->stored_of(r - part->first_row))};
}

} // namespace palimpsest::kernels::cpu
