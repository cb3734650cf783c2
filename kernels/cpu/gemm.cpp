#include "kernels/cpu/gemm.h"

#include <algorithm>

#include "kernels/cpu/gemm_blocks.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/gemm.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/cpu/block_rows-inl.h"
#include "kernels/cpu/micro_kernel-inl.h"
#include "kernels/cpu/transpose_panel-inl.h"

// This file is included once per target, but the part in this guard only once.
#ifndef PALIMPSEST_KERNELS_CPU_GEMM_PACKED_OFFSET
#define PALIMPSEST_KERNELS_CPU_GEMM_PACKED_OFFSET
namespace palimpsest::kernels::cpu {

// Offset of a panel in the packed rows of x. For every block of KC columns, the panels follow each other, each
// [kc][height].
inline int64_t packed_offset(const RowPanels& panels, int64_t k, int64_t kc, int64_t panel)
{
    return k * panels.rows + panels.begin(panel) * kc;
}

} // namespace palimpsest::kernels::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace palimpsest::kernels {
namespace HWY_NAMESPACE {
namespace { // compiled once per target
using cpu::CpuWeight;
using cpu::KC;

// The most rows of a row panel: a tile of micro_kernel-inl.h is MR rows of x by NR rows of W.
int64_t panel_height()
{
    return MR;
}

void pack_row_panel(const float* x, int64_t ldx, const cpu::RowPanels& panels, int64_t panel, int64_t cols,
                    float* packed)
{
    for (int64_t k = 0; k < cols; k += KC) {
        const int64_t kc = std::min(KC, cols - k);
        PackRowsA(x + k, ldx, panels.height(panel), kc, packed + packed_offset(panels, k, kc, panel));
    }
}

// Unpacks rows [n, n + columns) of W, from column k on, to a weight panel [kc][NR]; its columns beyond `columns`
// become zero.
void unpack_weight_panel(const CpuWeight& weight, int64_t n, int64_t columns, int64_t k, int64_t kc, float* panel)
{
    // The stride is not a power of two: rows 1 kB apart would compete for a few sets of the L1 cache.
    constexpr int64_t stride = KC + 16;
    HWY_ALIGN float rows[NR * stride];
    for (int64_t r = 0; r < columns; ++r) {
        const CpuWeight::Row row = weight.row(n + r);
        WidenWeights(row.type, row.data + row_bytes(row.type, k), rows + r * stride, kc);
    }
    for (int64_t r = columns; r < NR; ++r)
        std::fill_n(rows + r * stride, kc, 0.0f);
    TransposePanel(rows, stride, kc, panel);
}

// Computes columns [n, n + most) of y, or fewer at its end. `block` is scratch for most * KC floats.
void multiply_columns(const cpu::Product& product, const cpu::RowPanels& row_panels, const float* packed, int64_t n,
                      int64_t most, float* block)
{
    const int64_t N = product.weight->rows(), K = product.x.cols, columns = std::min(most, N - n);
    if (product.bias) cpu::put_bias(product, n, columns);
    for (int64_t k = 0; k < K; k += KC) {
        const int64_t kc = std::min(KC, K - k);
        const bool first = k == 0 && !product.bias && !product.accumulate;
        for (int64_t j = 0; j < columns; j += NR)
            unpack_weight_panel(*product.weight, n + j, std::min(NR, columns - j), k, kc, block + j * kc);
        for (int64_t panel = 0; panel < row_panels.count; ++panel) {
            const float* a = packed + packed_offset(row_panels, k, kc, panel);
            float* y = product.y + row_panels.begin(panel) * N + n;
            for (int64_t j = 0; j < columns; j += NR)
                MicroTileEdge(row_panels.height(panel), a, block + j * kc, kc, y + j, N, first,
                              std::min(NR, columns - j));
        }
    }
}

} // namespace
} // namespace HWY_NAMESPACE
} // namespace palimpsest::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace palimpsest::kernels::cpu {
namespace {

HWY_EXPORT(panel_height);
HWY_EXPORT(pack_row_panel);
HWY_EXPORT(multiply_columns);

void pack_made_panel(const RowSource& x, const RowPanels& panels, int64_t panel, float* made, float* packed)
{
    if (x.is_plain()) {
        HWY_DYNAMIC_DISPATCH(pack_row_panel)
        (x.in_memory(panels.begin(panel)), x.cols, panels, panel, x.cols, packed);
        return;
    }
    for (int r = 0; r < panels.height(panel); ++r)
        x.make(panels.begin(panel) + r, made + r * x.cols);
    HWY_DYNAMIC_DISPATCH(pack_row_panel)(made, x.cols, panels, panel, x.cols, packed);
}

} // namespace

void gemm(const Product& product, CpuContext& context)
{
    const RowSource& x = product.x;
    const int64_t most = HWY_DYNAMIC_DISPATCH(panel_height)();
    const RowPanels panels(x.rows, most);
    float* packed = context.shared_scratch(ScratchUse::PackedRows).get<float>(static_cast<size_t>(x.rows * x.cols));
    const auto made_floats = static_cast<size_t>(x.is_plain() ? 0 : most * x.cols);
    context.reserve<float>(ScratchUse::NormedRows, made_floats);
    const int64_t columns = product.weight->rows(), width = block_columns(columns, context.threads.threads());
    context.reserve<float>(ScratchUse::PackedWeight, static_cast<size_t>(width * KC));
    context.threads.run(panels.count, [&](int64_t panel, int worker) {
        float* made = context.worker_scratch(worker, ScratchUse::NormedRows).get<float>(made_floats);
        pack_made_panel(x, panels, panel, made, packed);
    });
    context.threads.run((columns + width - 1) / width, [&](int64_t block, int worker) {
        float* unpacked =
            context.worker_scratch(worker, ScratchUse::PackedWeight).get<float>(static_cast<size_t>(width * KC));
        HWY_DYNAMIC_DISPATCH(multiply_columns)(product, panels, packed, block * width, width, unpacked);
    });
}

} // namespace palimpsest::kernels::cpu
#endif
