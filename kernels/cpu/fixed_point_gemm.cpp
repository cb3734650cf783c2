#include "kernels/cpu/fixed_point_gemm.h"

#include <algorithm>

#include "kernels/base/fixed_point_types.h"
#include "kernels/cpu/gemm_blocks.h"
#include "kernels/cpu/gemv.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/fixed_point_gemm.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/cpu/block_rows-inl.h"
#include "kernels/cpu/fixed_point_tile-inl.h"

#ifndef PALIMPSEST_KERNELS_CPU_FIXED_POINT_GEMM_PART
#define PALIMPSEST_KERNELS_CPU_FIXED_POINT_GEMM_PART
namespace palimpsest::kernels::cpu {

// Columns [n, n + columns) of the product, all in one part of the weight.
struct PartColumns {
    const CpuWeight::Part* part;
    int64_t n, columns;
};

} // namespace palimpsest::kernels::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace palimpsest::kernels {
namespace HWY_NAMESPACE {
namespace { // compiled once per target
using cpu::PartColumns;

#if HWY_TARGET <= HWY_AVX3
using cpu::CpuWeight;
using cpu::KC;

int64_t fixed_row_panel_height()
{
    return fixed_point_rows;
}

int64_t fixed_packed_words(int64_t rows, int64_t cols)
{
    return rows * (cols / fixed_group) * packed_words;
}

int64_t fixed_scratch_bytes(int64_t columns)
{
    return columns * (KC + 2 * KC / 16 * static_cast<int64_t>(sizeof(float)));
}

// Packs one row panel of x: for each group of 32 columns, a PackedGroup. `computed_row` is scratch for a row of x.
void pack_fixed_row_panel(const cpu::RowSource& x, const cpu::RowPanels& panels, int64_t panel, float* computed_row,
                          int32_t* packed)
{
    const int64_t groups = x.cols / fixed_group;
    const int rows = panels.height(panel);
    packed += fixed_packed_words(panels.begin(panel), x.cols);
    for (int r = 0; r < rows; ++r) {
        if (!x.is_plain()) x.make(panels.begin(panel) + r, computed_row);
        PackFixedPointRow(x.is_plain() ? x.in_memory(panels.begin(panel) + r) : computed_row, groups, r, rows,
                          packed);
    }
    for (int64_t g = 0; g < groups; ++g)
        PutSums(packed + g * packed_words * rows, rows);
}

// For types without offsets: the number that makes their codes unsigned bytes when it is added to them.
constexpr int code_shift(DType type)
{
    switch (type) {
    case DType::Q3_K:
        return 4;
    case DType::Q4_0:
        return 8;
    case DType::MXFP4:
        return 12;
    case DType::Q5_0:
        return 16;
    case DType::Q6_K:
        return 32;
    case DType::IQ4_NL:
    case DType::IQ4_XS:
        return 127;
    default:
        return 0;
    }
}

// A worker's memory for the unpacked columns of a block: column panels of NR columns, one after the other.
struct BlockScratch {
    struct ColumnPanel {
        uint8_t* codes;
        float *scale, *offset;
    };
    BlockScratch(std::byte* from, int64_t columns)
        : codes(reinterpret_cast<uint8_t*>(from)), scale(reinterpret_cast<float*>(from + columns * KC)),
          offset(scale + columns * KC / 16)
    {
    }
    ColumnPanel column_panel(int64_t j) const
    {
        return {codes + j * KC, scale + j * KC / 16, offset + j * KC / 16};
    }

    uint8_t* codes;
    float *scale, *offset;
};

// Stores the codes of a row of weights as unsigned bytes; always KC of them, even if the row has fewer.
template<DType type>
HWY_INLINE void put_codes(const UnpackedWeights& weights, uint8_t* HWY_RESTRICT bytes)
{
    for (int64_t i = 0; i < KC; i += 64)
        _mm512_storeu_si512(bytes + i,
                            _mm512_add_epi8(_mm512_load_si512(weights.q + i), _mm512_set1_epi8(code_shift(type))));
}

// Stores the scales and offsets of one column of a column panel, for each group.
template<DType type>
HWY_INLINE void put_scales(const UnpackedWeights& weights, int64_t groups, float* HWY_RESTRICT scale,
                           float* HWY_RESTRICT offset)
{
    constexpr auto shift = static_cast<float>(code_shift(type));
    for (int64_t g = 0; g < groups; ++g) {
        scale[g * NR] = weights.scale[g];
        offset[g * NR] = BlocksOf<type>::has_offset ? weights.offset[g] : -shift * weights.scale[g];
    }
}

// Rows of the weight are columns of the product. Unpacks NR rows of a part, starting at `row`, as a column panel
// over [k, k + kc); rows beyond `columns` become zero.
template<DType type>
void unpack_column_panel(const CpuWeight::Part& part, int64_t row, int64_t columns, int64_t k, int64_t kc,
                         const BlockScratch::ColumnPanel& to)
{
    using Blocks = BlocksOf<type>;
    static_assert((code_shift(type) == 0) == Blocks::has_offset);
    constexpr int64_t stride = KC + 64; // not a power of two, as in gemm.cpp
    HWY_ALIGN uint8_t rows[NR * stride];
    UnpackedWeights weights{};
    for (int64_t r = 0; r < NR; ++r) {
        if (r < columns)
            UnpackBlocks<type>(part.stored(part.stored_of(row + r)) + row_bytes(type, k), kc, weights);
        else if (r == columns)
            weights = {};
        put_codes<type>(weights, rows + r * stride);
        put_scales<type>(weights, kc / Blocks::group, to.scale + r, to.offset + r);
    }
    TransposePanel(reinterpret_cast<const float*>(rows), stride / quad, kc / quad,
                   reinterpret_cast<float*>(to.codes));
}

template<DType type>
void multiply_part(const cpu::Product& product, const cpu::RowPanels& row_panels, const int32_t* packed,
                   const PartColumns& at, const BlockScratch& scratch)
{
    const int64_t N = product.weight->rows(), K = product.x.cols;
    for (int64_t k = 0; k < K; k += KC) {
        const int64_t kc = std::min(KC, K - k);
        const bool overwrites = k == 0 && !product.bias && !product.accumulate;
        for (int64_t j = 0; j < at.columns; j += NR)
            unpack_column_panel<type>(*at.part, at.n - at.part->first_row + j, std::min(NR, at.columns - j), k, kc,
                                      scratch.column_panel(j));
        for (int64_t panel = 0; panel < row_panels.count; ++panel) {
            const int height = row_panels.height(panel);
            const int32_t* a =
                packed + fixed_packed_words(row_panels.begin(panel), K) + k / fixed_group * packed_words * height;
            float* y = product.y + row_panels.begin(panel) * N + at.n;
            for (int64_t j = 0; j < at.columns; j += NR) {
                const auto [codes, scale, offset] = scratch.column_panel(j);
                FixedPointTile<BlocksOf<type>::group>(height, a, {codes, scale, offset}, kc, y + j, N, overwrites,
                                                      TileColumns(at.columns - j));
            }
        }
    }
}

void multiply_fixed_columns(const cpu::Product& product, const cpu::RowPanels& row_panels, const int32_t* packed,
                            const PartColumns& at, std::byte* scratch, int64_t block_width)
{
    if (product.bias) cpu::put_bias(product, at.n, at.columns);
    WithBlocks(at.part->matrix.type, [&]<DType type>() {
        multiply_part<type>(product, row_panels, packed, at, BlockScratch(scratch, block_width));
    });
}
#else
// These functions are never called: takes_fixed_point_gemm is false on this target.
int64_t fixed_row_panel_height()
{
    return 1;
}
int64_t fixed_packed_words(int64_t, int64_t)
{
    return 0;
}
int64_t fixed_scratch_bytes(int64_t)
{
    return 0;
}
void pack_fixed_row_panel(const cpu::RowSource&, const cpu::RowPanels&, int64_t, float*, int32_t*) {}
void multiply_fixed_columns(const cpu::Product&, const cpu::RowPanels&, const int32_t*, const PartColumns&,
                            std::byte*, int64_t)
{
}
#endif

} // namespace
} // namespace HWY_NAMESPACE
} // namespace palimpsest::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace palimpsest::kernels::cpu {
namespace {

HWY_EXPORT(fixed_row_panel_height);
HWY_EXPORT(fixed_packed_words);
HWY_EXPORT(fixed_scratch_bytes);
HWY_EXPORT(pack_fixed_row_panel);
HWY_EXPORT(multiply_fixed_columns);

int64_t blocks_of(const CpuWeight::Part& part, int64_t width)
{
    return (part.matrix.rows + width - 1) / width;
}

// Returns the columns of a block. Blocks are numbered consecutively across the parts; no block spans two parts.
PartColumns columns_of(const CpuWeight& weight, int64_t block, int64_t width)
{
    const CpuWeight::Part* part = weight.parts().data();
    for (; block >= blocks_of(*part, width); ++part)
        block -= blocks_of(*part, width);
    return {part, part->first_row + block * width, std::min(width, part->matrix.rows - block * width)};
}

} // namespace

bool takes_fixed_point_gemm(const Product& product, const CpuContext& context)
{
    return !context.exact_products && multiplies_in_fixed_point() &&
           std::ranges::all_of(product.weight->parts(), [](const CpuWeight::Part& part) {
               return prefills_in_fixed_point(part.matrix.type);
           });
}

void fixed_point_gemm(const Product& product, CpuContext& context)
{
    const RowSource& x = product.x;
    const RowPanels panels(x.rows, HWY_DYNAMIC_DISPATCH(fixed_row_panel_height)());
    int32_t* packed =
        context.shared_scratch(ScratchUse::PackedRows)
            .get<int32_t>(static_cast<size_t>(HWY_DYNAMIC_DISPATCH(fixed_packed_words)(x.rows, x.cols)));
    const auto computed_floats = static_cast<size_t>(x.is_plain() ? 0 : x.cols);
    context.reserve<float>(ScratchUse::NormedRows, computed_floats);
    const int64_t width = block_columns(product.weight->rows(), context.threads.threads());
    const auto scratch_bytes = static_cast<size_t>(HWY_DYNAMIC_DISPATCH(fixed_scratch_bytes)(width));
    context.reserve<std::byte>(ScratchUse::PackedWeight, scratch_bytes);
    context.threads.run(panels.count, [&](int64_t panel, int worker) {
        float* computed_row = context.worker_scratch(worker, ScratchUse::NormedRows).get<float>(computed_floats);
        HWY_DYNAMIC_DISPATCH(pack_fixed_row_panel)(x, panels, panel, computed_row, packed);
    });
    int64_t blocks = 0;
    for (const CpuWeight::Part& part : product.weight->parts())
        blocks += blocks_of(part, width);
    context.threads.run(blocks, [&](int64_t block, int worker) {
        std::byte* scratch = context.worker_scratch(worker, ScratchUse::PackedWeight).get<std::byte>(scratch_bytes);
        HWY_DYNAMIC_DISPATCH(multiply_fixed_columns)
        (product, panels, packed, columns_of(*product.weight, block, width), scratch, width);
    });
}

} // namespace palimpsest::kernels::cpu
#endif
