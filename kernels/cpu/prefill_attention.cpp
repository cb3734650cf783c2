// Attention of a chunk: exact softmax over scores that are stored in memory, one block of query rows at a time.
//
// Scores are stored transposed, S^T[rank][query row], with query rows in vector lanes. The maximum, the sum and the
// exponentials of a row then need no reduction across lanes, both products use the micro kernel without further
// packing of S^T (S^T = K Q^T, O^T = V^T S^T), and column sums cost one vector addition per rank for every two
// vectors of rows.
//
// No operation mixes lanes, and ranks are summed in blocks that begin at multiples of 256, so the bits of a query
// row depend only on the ranks it attends to, not on the other rows of the chunk.
#include "kernels/cpu/kernels.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "kernels/cpu/key_norms.h"
#include "kernels/cpu/key_similarities.h"
#include "kernels/cpu/kv_list.h"
#include "kernels/cpu/signal_part.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/prefill_attention.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/cpu/exp-inl.h"
#include "kernels/cpu/kv_quantise-inl.h"
#include "kernels/cpu/micro_kernel-inl.h"
#include "kernels/cpu/prefill_panel-inl.h"
#include "kernels/cpu/prefill_signals-inl.h"
#include "kernels/cpu/rotate-inl.h"
#include "kernels/cpu/tanh-inl.h"

#ifndef PALIMPSEST_KERNELS_CPU_PREFILL_ATTENTION_ONCE
#define PALIMPSEST_KERNELS_CPU_PREFILL_ATTENTION_ONCE
namespace palimpsest::kernels {

// The query rows of one KV head are numbered (row of the chunk) * group size + (head in the group), and split into
// this many segments.
inline constexpr int64_t row_segments = 4;
inline constexpr int64_t rank_block = 256;
inline constexpr int64_t pack_tiles = 32; // tiles of keys per packing task

// Sizes that depend on the SIMD target and on the call.
struct AttendSizes {
    int64_t dim = 0;
    int64_t tile_ranks = 0;   // ranks in a packed tile of keys
    int64_t panel_rows = 0;   // query rows that a panel has room for
    int64_t panel_fill = 0;   // query rows in a panel; whole rows of the chunk if their heads must be in one panel
    int64_t panels = 0;       // panels in one block of query rows
    int64_t padded_ranks = 0; // ranks of the longest list and the chunk, rounded up to whole tiles

    int64_t lanes() const { return panels * panel_rows; }
    size_t packed_floats() const { return static_cast<size_t>(padded_ranks * dim); }
    size_t score_floats() const { return static_cast<size_t>(padded_ranks * lanes() + panel_rows); }
    size_t query_floats() const { return static_cast<size_t>(lanes() * dim); }
    size_t row_floats() const { return static_cast<size_t>(std::max(tile_ranks, panel_rows) * dim); }
};

// One KV head of the call: its rotated keys as tiles [ranks / tile][dim][tile], and its values as tiles of
// dimensions [dim tiles][ranks][tile].
struct PackedHead {
    int64_t head = 0;
    int64_t ranks = 0; // in the list and the chunk
    int64_t begin = 0; // ranks before it are visible to no row, and are not packed
    float* keys = nullptr;
    float* values = nullptr;
};

struct AttendScratch {
    float* scores = nullptr;  // [panels, padded_ranks, panel_rows], and padding that may be read but is ignored
    float* queries = nullptr; // [panels, dim, panel_rows]
    float* outs = nullptr;    // same shape
    float* rows = nullptr;    // [max(tile_ranks, panel_rows), dim]
    SignalLanes lanes;
};

} // namespace palimpsest::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace palimpsest::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

AttendSizes SizesOf(const AttendArgs& args)
{
    const int32_t most = *std::max_element(args.lists.used, args.lists.used + args.shape.kv_heads);
    const int64_t ranks = static_cast<int64_t>(most) + args.rows;
    AttendSizes sizes;
    sizes.dim = args.shape.head_dim;
    sizes.tile_ranks = MR;
    sizes.panel_rows = NR;
    const int64_t group = args.shape.group();
    sizes.panel_fill = needs_all_heads(args.signals) && group <= NR ? NR / group * group : NR;
    // Very long lists have fewer panels in a block, so that the scores stay in the caches.
    sizes.panels = std::max<int64_t>(1, (ranks > 16384 ? 16 : 32) / NR);
    sizes.padded_ranks = (ranks + MR - 1) / MR * MR;
    return sizes;
}

// packed[p * rows + r] = x[r * ldx + p], for p < columns and r < rows.
HWY_INLINE void Transpose(const float* HWY_RESTRICT x, int64_t ldx, int64_t rows, int64_t columns,
                          float* HWY_RESTRICT packed)
{
#if HWY_TARGET != HWY_SCALAR
    if (rows >= 4 && columns % 4 == 0) {
        const hn::FixedTag<float, 4> d;
        const hn::FixedTag<uint64_t, 2> pairs;
        for (int64_t p = 0; p < columns; p += 4) {
            for (int64_t next = 0; next < rows; next += 4) {
                const int64_t r = std::min(next, rows - 4); // the last four rows may overlap the previous ones
                const float* from = x + r * ldx + p;
                const auto a = hn::LoadU(d, from), b = hn::LoadU(d, from + ldx);
                const auto c = hn::LoadU(d, from + 2 * ldx), e = hn::LoadU(d, from + 3 * ldx);
                const auto ab01 = hn::BitCast(pairs, hn::InterleaveLower(d, a, b));
                const auto ce01 = hn::BitCast(pairs, hn::InterleaveLower(d, c, e));
                const auto ab23 = hn::BitCast(pairs, hn::InterleaveUpper(d, a, b));
                const auto ce23 = hn::BitCast(pairs, hn::InterleaveUpper(d, c, e));
                float* to = packed + p * rows + r;
                hn::StoreU(hn::BitCast(d, hn::InterleaveLower(pairs, ab01, ce01)), d, to);
                hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(pairs, ab01, ce01)), d, to + rows);
                hn::StoreU(hn::BitCast(d, hn::InterleaveLower(pairs, ab23, ce23)), d, to + 2 * rows);
                hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(pairs, ab23, ce23)), d, to + 3 * rows);
            }
        }
        return;
    }
#endif
    for (int64_t p = 0; p < columns; ++p)
        for (int64_t r = 0; r < rows; ++r)
            packed[p * rows + r] = x[r * ldx + p];
}

// Splits `dim` into nearly equal tiles of at most MR dimensions, and calls tile(first, count) for each.
template<class Tile>
HWY_INLINE void ForDimTiles(int64_t dim, Tile&& tile)
{
    const int64_t tiles = (dim + MR - 1) / MR;
    for (int64_t i = 0; i < tiles; ++i) {
        const int64_t first = dim * i / tiles;
        tile(first, static_cast<int>(dim * (i + 1) / tiles - first));
    }
}

// Packs tiles [first, last) of keys, and the values of the same ranks. `rows` is scratch for tile_ranks rows.
void PackTiles(const AttendArgs& args, const PackedHead& packed, int64_t first_tile, int64_t last_tile, float* rows)
{
    const KvList list(args.pool, args.lists, packed.head, args.shape.head_dim);
    const int64_t dim = args.shape.head_dim, used = args.lists.used[packed.head];
    const KvPage staged = kv_page(args.staging.type, dim);
    const int64_t chunk = packed.head * args.staging.capacity - used; // staged row = rank + chunk
    const auto widen = [&](int64_t rank, bool of_keys, float* to) {
        const std::byte* rows_at = of_keys ? args.staging.keys : args.staging.values;
        if (rank >= used) return WidenRow(args.staging.type, rows_at + staged.elements_at(chunk + rank), to, dim);
        WidenRow(args.pool.type, of_keys ? list.key(rank) : list.value(rank), to, dim);
    };
    for (int64_t tile = first_tile; tile < last_tile; ++tile) {
        const int64_t first = tile * MR, count = std::min<int64_t>(MR, packed.ranks - first);
        for (int64_t i = 0; i < count; ++i) {
            widen(first + i, true, rows + i * dim);
            if (!args.rotation.keys_rotated) RotateRow(args.rotation.table, first + i, rows + i * dim);
        }
        Transpose(rows, dim, count, dim, packed.keys + first * dim);
        for (int64_t rank = first; rank < first + count; ++rank) {
            widen(rank, false, rows);
            ForDimTiles(dim, [&](int64_t d0, int dims) {
                std::copy_n(rows + d0, dims, packed.values + d0 * packed.ranks + rank * dims);
            });
        }
    }
}

HWY_INLINE void LoadQueries(const AttendArgs& args, int64_t head, Panel& panel, float* rows)
{
    const int64_t dim = args.shape.head_dim, group = args.shape.group(), used = args.lists.used[head];
    std::fill_n(rows, NR * dim, 0.0f);
    for (int64_t lane = 0; lane < NR; ++lane) {
        const int64_t at = panel.first + std::min(lane, panel.rows - 1), row = at / group;
        panel.limits[lane] = static_cast<int32_t>(used + row + 1);
        panel.starts[lane] = static_cast<int32_t>(first_visible(args.window, panel.limits[lane]));
        if (lane >= panel.rows) continue;
        const float* query = args.qkv + row * args.shape.qkv_width() + (head * group + at % group) * dim;
        for (int64_t i = 0; i < dim; ++i)
            rows[lane * dim + i] = query[i] * args.shape.scale;
        RotateRow(args.rotation.table, args.rotation.keys_rotated ? row : used + row, rows + lane * dim);
    }
    panel.begin = panel.starts[0];
    panel.shared_begin = panel.starts[NR - 1];
    panel.shared = panel.limits[0];
    panel.visible = panel.limits[NR - 1];
    Transpose(rows, dim, NR, dim, panel.queries);
}

// Updates the lanes' row maxima with the scores of ranks [first, last).
HWY_INLINE void UpdateRowMaxima(Panel& panel, int64_t first, int64_t last)
{
    const F32 d;
    auto left = hn::Load(d, panel.row_maxima), right = hn::Load(d, panel.row_maxima + half_panel);
    const auto raise = [&](int64_t rank) HWY_ATTR {
        left = hn::Max(left, hn::Load(d, panel.scores + rank * NR));
        right = hn::Max(right, hn::Load(d, panel.scores + rank * NR + half_panel));
    };
    ForPanelRanks(panel, first, last, raise, [&](int64_t rank) HWY_ATTR {
        const auto score_left = hn::Load(d, panel.scores + rank * NR);
        const auto score_right = hn::Load(d, panel.scores + rank * NR + half_panel);
        left = hn::IfThenElse(Attending(panel, rank, 0), hn::Max(left, score_left), left);
        right = hn::IfThenElse(Attending(panel, rank, half_panel), hn::Max(right, score_right), right);
    });
    hn::Store(left, d, panel.row_maxima);
    hn::Store(right, d, panel.row_maxima + half_panel);
}

// s = cap tanh(s / cap) for the scores of `ranks` ranks.
HWY_INLINE void CapSoftly(float soft_cap, int64_t ranks, float* HWY_RESTRICT scores)
{
    const F32 d;
    const auto cap = hn::Set(d, soft_cap);
    for (int64_t i = 0; i < ranks * NR; i += half_panel)
        hn::Store(hn::Mul(cap, Tanh(d, hn::Div(hn::Load(d, scores + i), cap))), d, scores + i);
}

// Computes S^T = K Q^T for all panels of a block, and the maximum of every row.
HWY_INLINE void Scores(const PackedHead& packed, const HeadShape& shape, Panel* panels, int64_t count)
{
    const int64_t dim = shape.head_dim;
    const F32 d;
    for (int64_t p = 0; p < count; ++p)
        for (int64_t lane = 0; lane < NR; lane += half_panel)
            hn::Store(hn::Set(d, -std::numeric_limits<float>::infinity()), d, panels[p].row_maxima + lane);
    const int64_t visible = panels[count - 1].visible;
    for (int64_t first = panels[0].begin / MR * MR; first < visible; first += MR) {
        const auto ranks = static_cast<int>(std::min<int64_t>(MR, packed.ranks - first));
        for (int64_t p = 0; p < count; ++p) {
            if (first + ranks <= panels[p].begin) continue;
            float* scores = panels[p].scores + first * NR;
            MicroTile(ranks, packed.keys + first * dim, panels[p].queries, dim, scores, NR, true);
            if (shape.soft_cap > 0) CapSoftly(shape.soft_cap, ranks, scores);
            UpdateRowMaxima(panels[p], first, first + ranks);
        }
    }
}

// Replaces the scores of ranks [first, last) by exp(score - row maximum), or zero where a row does not attend, and
// adds them to the totals.
HWY_INLINE void Exponentials(Panel& panel, int64_t first, int64_t last)
{
    const F32 d;
    const auto top_left = hn::Load(d, panel.row_maxima), top_right = hn::Load(d, panel.row_maxima + half_panel);
    auto sum_left = hn::Zero(d), sum_right = hn::Zero(d);
    for (int64_t rank = first; rank < last; ++rank) {
        float* scores = panel.scores + rank * NR;
        auto left = Exp(d, hn::Sub(hn::Load(d, scores), top_left));
        auto right = Exp(d, hn::Sub(hn::Load(d, scores + half_panel), top_right));
        if (rank >= panel.shared || rank < panel.shared_begin) {
            left = hn::IfThenElseZero(Attending(panel, rank, 0), left);
            right = hn::IfThenElseZero(Attending(panel, rank, half_panel), right);
        }
        hn::Store(left, d, scores);
        hn::Store(right, d, scores + half_panel);
        sum_left = hn::Add(sum_left, left);
        sum_right = hn::Add(sum_right, right);
    }
    hn::Store(hn::Add(hn::Load(d, panel.denominators), sum_left), d, panel.denominators);
    hn::Store(hn::Add(hn::Load(d, panel.denominators + half_panel), sum_right), d, panel.denominators + half_panel);
}

// Computes softmax weights, not yet divided by their totals, and O^T = V^T S^T with them. The first block of ranks
// is stored in O^T, the others are added. With a window, which block is a panel's first depends on all of its rows;
// all blocks are then added to zeros, so that the bits of a row do not depend on the other rows.
HWY_INLINE void WeighValues(const PackedHead& packed, int64_t dim, bool window, Panel* panels, int64_t count)
{
    for (int64_t p = 0; p < count; ++p) {
        std::fill_n(panels[p].denominators, NR, 0.0f);
        if (window) std::fill_n(panels[p].out, dim * NR, 0.0f);
    }
    const int64_t visible = panels[count - 1].visible;
    for (int64_t block = panels[0].begin / rank_block * rank_block; block < visible; block += rank_block) {
        for (int64_t p = 0; p < count; ++p) {
            Panel& panel = panels[p];
            const int64_t first = std::max(block, panel.begin), last = std::min(block + rank_block, panel.visible);
            if (last <= first) continue;
            Exponentials(panel, first, last);
            ForDimTiles(dim, [&](int64_t d0, int dims) {
                const float* values = packed.values + d0 * packed.ranks + first * dims;
                MicroTile(dims, values, panel.scores + first * NR, last - first, panel.out + d0 * NR, NR,
                          block == 0 && !window);
            });
        }
    }
}

HWY_INLINE void StoreOut(const AttendArgs& args, int64_t head, const Panel& panel, float* rows)
{
    const F32 d;
    const int64_t dim = args.shape.head_dim, group = args.shape.group();
    for (int64_t lane = 0; lane < NR; lane += half_panel) {
        const auto total = hn::Load(d, panel.denominators + lane);
        for (int64_t i = 0; i < dim; ++i) {
            float* out = panel.out + i * NR + lane;
            hn::Store(hn::Div(hn::Load(d, out), total), d, out);
        }
    }
    Transpose(panel.out, NR, dim, NR, rows);
    for (int64_t lane = 0; lane < panel.rows; ++lane) {
        const int64_t at = panel.first + lane, query_head = head * group + at % group;
        float* out = args.out + (at / group * args.shape.query_heads + query_head) * dim;
        std::memcpy(out, rows + lane * dim, static_cast<size_t>(dim) * sizeof(float));
    }
}

// Computes attention of query rows [first, last) of one KV head: one block of panels with `fill` rows each.
HWY_NOINLINE void AttendBlock(const AttendArgs& args, const AttendSizes& sizes, const PackedHead& packed,
                              int64_t first, int64_t last, int64_t fill, const AttendScratch& scratch,
                              const SignalContext* signals)
{
    const int64_t dim = sizes.dim;
    Panel panels[32 / NR > 0 ? 32 / NR : 1];
    int64_t count = 0;
    for (int64_t at = first; at < last; at += fill, ++count) {
        Panel& panel = panels[count];
        panel.first = at;
        panel.rows = std::min(fill, last - at);
        panel.scores = scratch.scores + count * sizes.padded_ranks * NR;
        panel.queries = scratch.queries + count * dim * NR;
        panel.out = scratch.outs + count * dim * NR;
        LoadQueries(args, packed.head, panel, scratch.rows);
    }
    Scores(packed, args.shape, panels, count);
    WeighValues(packed, dim, args.window > 0, panels, count);
    for (int64_t p = 0; p < count; ++p) {
        if (signals) AddSignals(*signals, panels[p]);
        StoreOut(args, packed.head, panels[p], scratch.rows);
    }
}

// Computes attention of query rows [first, last) of one KV head, and their signals into `part` unless that is null.
void AttendRows(const AttendArgs& args, const AttendSizes& sizes, const PackedHead& packed, int64_t first,
                int64_t last, const AttendScratch& scratch, const SignalPart* part)
{
    const auto attend = [&](int64_t from, int64_t to, int64_t fill, const SignalContext* signals) {
        for (int64_t block = from; block < to; block += sizes.panels * fill)
            AttendBlock(args, sizes, packed, block, std::min(block + sizes.panels * fill, to), fill, scratch,
                        signals);
    };
    if (!part) return attend(first, last, NR, nullptr);
    const int64_t group = args.shape.group(), wanted_rows = std::min(args.signals.rows, args.rows);
    const SignalContext signals{args.signals,  group, packed.ranks, (args.rows - wanted_rows) * group,
                                scratch.lanes, *part};
    // Rows without signals use full panels.
    const int64_t begin = sizes.panel_fill == NR ? first : std::clamp(signals.first_row, first, last);
    attend(first, begin, NR, nullptr);
    BeginSignals(signals);
    attend(begin, last, sizes.panel_fill, &signals);
    EndSignals(signals);
}

} // namespace HWY_NAMESPACE
} // namespace palimpsest::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace palimpsest::kernels {
HWY_EXPORT(SizesOf);
HWY_EXPORT(PackTiles);
HWY_EXPORT(AttendRows);

namespace cpu {
namespace {

AttendScratch scratch_of(CpuContext& context, int worker, const AttendSizes& sizes)
{
    AttendScratch scratch;
    const size_t queries = sizes.query_floats();
    scratch.scores = context.worker_scratch(worker, ScratchUse::Scores).get<float>(sizes.score_floats());
    scratch.queries =
        context.worker_scratch(worker, ScratchUse::PackedRows).get<float>(2 * queries + sizes.row_floats());
    scratch.outs = scratch.queries + queries;
    scratch.rows = scratch.outs + queries;
    return scratch;
}

// Like scratch_of, with memory for signals.
AttendScratch signal_scratch_of(const AttendArgs& args, CpuContext& context, int worker, const AttendSizes& sizes)
{
    AttendScratch scratch = scratch_of(context, worker, sizes);
    PartMemory size;
    lay_out_lanes(args.signals, sizes.panel_rows / 2, sizes.padded_ranks, size);
    PartMemory memory(
        context.worker_scratch(worker, ScratchUse::Sums).get<float>(static_cast<size_t>(size.used())));
    scratch.lanes = lay_out_lanes(args.signals, sizes.panel_rows / 2, sizes.padded_ranks, memory);
    return scratch;
}

// The KV heads that are packed at the same time: at most as many as there are threads, because packed tiles need 8
// bytes per rank and dimension.
class HeadBatch {
public:
    HeadBatch(const AttendArgs& args, CpuContext& context, const AttendSizes& sizes)
        : args_(args), sizes_(sizes), most_(std::min<int64_t>(context.threads.threads(), args.shape.kv_heads))
    {
        const size_t floats = static_cast<size_t>(most_) * sizes.packed_floats();
        keys_ = context.shared_scratch(ScratchUse::PackedKeys).get<float>(floats);
        values_ = context.shared_scratch(ScratchUse::PackedValues).get<float>(floats);
    }

    int64_t most() const { return most_; }
    int64_t heads(int64_t first) const { return std::min(most_, args_.shape.kv_heads - first); }
    PackedHead at(int64_t first, int64_t i) const
    {
        const auto offset = static_cast<int64_t>(sizes_.packed_floats()) * i;
        const int64_t used = args_.lists.used[first + i];
        const int64_t begin = first_visible(args_.window, used + 1);
        return {first + i, used + args_.rows, begin, keys_ + offset, values_ + offset};
    }

private:
    const AttendArgs& args_;
    const AttendSizes& sizes_;
    int64_t most_;
    float *keys_ = nullptr, *values_ = nullptr;
};

void pack_wave(const AttendArgs& args, CpuContext& context, const AttendSizes& sizes, const HeadBatch& wave,
               int64_t first)
{
    const auto pack_tiles_of = HWY_DYNAMIC_DISPATCH(PackTiles);
    const int64_t heads = wave.heads(first);
    const int64_t parts = (sizes.padded_ranks / sizes.tile_ranks + pack_tiles - 1) / pack_tiles;
    context.threads.run(heads * parts, [&](int64_t task, int worker) {
        const PackedHead packed = wave.at(first, task / parts);
        const int64_t tiles = (packed.ranks + sizes.tile_ranks - 1) / sizes.tile_ranks;
        const int64_t part_begin = task % parts * pack_tiles, end = std::min(part_begin + pack_tiles, tiles);
        const int64_t begin = std::max(part_begin, packed.begin / sizes.tile_ranks);
        if (begin >= end) return;
        float* rows = scratch_of(context, worker, sizes).rows;
        pack_tiles_of(args, packed, begin, end, rows);
    });
}

// Splits the query rows of a KV head into segments. Segments with rows that count for signals have a SignalPart.
class Segments {
public:
    Segments(const AttendArgs& args, const AttendSizes& sizes) : args_(args), sizes_(sizes)
    {
        const int64_t group = args.shape.group(), rows = args.rows * group, block = sizes.panels * sizes.panel_fill;
        const int64_t blocks = (rows + block - 1) / block, unit = needs_all_heads(args.signals) ? group : 1;
        for (int64_t s = 1; s <= row_segments; ++s)
            ends_[s] = std::min((blocks * s / row_segments * block + unit - 1) / unit * unit, rows);
        const int64_t first_row = (args.rows - std::min(args.signals.rows, args.rows)) * group;
        if (!wants_signals(args.signals)) return;
        while (ends_[first_part_ + 1] <= first_row)
            ++first_part_;
        parts_ = row_segments - first_part_;
        PartMemory size;
        lay_out(args.signals, group, sizes.padded_ranks, size);
        part_floats_ = size.used();
    }

    int64_t begin(int64_t segment) const { return ends_[segment]; }
    int64_t end(int64_t segment) const { return ends_[segment + 1]; }
    int64_t parts() const { return parts_; } // how many segments have a SignalPart, the last ones; 0: no signals
    int64_t first_part() const { return row_segments - parts_; }
    size_t floats() const { return static_cast<size_t>(args_.shape.kv_heads * parts_ * part_floats_); }
    void set_memory(float* memory) { memory_ = memory; }
    SignalPart part(int64_t head, int64_t segment) const
    {
        PartMemory memory(memory_ + (head * parts_ + segment - first_part()) * part_floats_);
        return lay_out(args_.signals, args_.shape.group(), sizes_.padded_ranks, memory);
    }

private:
    const AttendArgs& args_;
    const AttendSizes& sizes_;
    int64_t ends_[row_segments + 1] = {};
    int64_t first_part_ = 0, parts_ = 0, part_floats_ = 0;
    float* memory_ = nullptr;
};

void attend_wave(const AttendArgs& args, CpuContext& context, const AttendSizes& sizes, const HeadBatch& wave,
                 int64_t first, const Segments& segments)
{
    const auto attend_rows = HWY_DYNAMIC_DISPATCH(AttendRows);
    const int64_t heads = wave.heads(first);
    context.threads.run(heads * row_segments, [&](int64_t task, int worker) {
        // Later rows attend to more ranks, so the longest tasks start first.
        const int64_t segment = row_segments - 1 - task / heads;
        const PackedHead packed = wave.at(first, task % heads);
        const int64_t begin = segments.begin(segment), end = segments.end(segment);
        if (segment < segments.first_part())
            return attend_rows(args, sizes, packed, begin, end, scratch_of(context, worker, sizes), nullptr);
        const SignalPart part = segments.part(packed.head, segment);
        attend_rows(args, sizes, packed, begin, end, signal_scratch_of(args, context, worker, sizes), &part);
    });
}

// to[i] = the sum over a head's parts, in order, of plane[offset + i].
void add_parts(const Segments& segments, int64_t head, float* SignalPart::*plane, int64_t offset, int64_t count,
               float* to)
{
    std::copy_n(segments.part(head, segments.first_part()).*plane + offset, count, to);
    for (int64_t s = segments.first_part() + 1; s < row_segments; ++s) {
        const float* from = segments.part(head, s).*plane + offset;
        for (int64_t i = 0; i < count; ++i)
            to[i] += from[i];
    }
}

void add_segments(const AttendArgs& args, CpuContext& context, const AttendSizes& sizes, const Segments& segments)
{
    const SignalRequest& wanted = args.signals;
    const int64_t group = args.shape.group();
    context.threads.run(args.shape.kv_heads, [&](int64_t head, int) {
        const int64_t ranks = args.lists.used[head] + args.rows, to = head * wanted.stride;
        const auto add = [&](float* SignalPart::*plane, float* out) {
            if (out) add_parts(segments, head, plane, 0, ranks, out + to);
        };
        const auto add_heads = [&](float* SignalPart::*plane, float* out) {
            for (int64_t g = 0; out && g < group; ++g)
                add_parts(segments, head, plane, g * sizes.padded_ranks, ranks,
                          out + (head * group + g) * wanted.stride);
        };
        add(&SignalPart::sums, wanted.sums);
        add(&SignalPart::low_counts, wanted.low_counts);
        add(&SignalPart::entropies, wanted.entropies);
        add_heads(&SignalPart::head_sums, wanted.head_sums);
        add_heads(&SignalPart::head_squares, wanted.head_squares);
        if (wanted.row_statistic != RowStatistic::None)
            add_parts(segments, head, &SignalPart::row_statistics, 0, group, wanted.row_statistics + head * group);
    });
}

} // namespace

void attend(const AttendArgs& args, CpuContext& context)
{
    if (args.rows == 0) return;
    const AttendSizes sizes = HWY_DYNAMIC_DISPATCH(SizesOf)(args);
    const HeadBatch wave(args, context, sizes);
    Segments segments(args, sizes);
    // Allocates scratch memory here, because tasks must not throw.
    for (int worker = 0; worker < context.threads.threads(); ++worker) {
        if (segments.parts() > 0)
            signal_scratch_of(args, context, worker, sizes);
        else
            scratch_of(context, worker, sizes);
    }
    segments.set_memory(context.shared_scratch(ScratchUse::Sums).get<float>(segments.floats()));
    for (int64_t first = 0; first < args.shape.kv_heads; first += wave.most()) {
        pack_wave(args, context, sizes, wave, first);
        attend_wave(args, context, sizes, wave, first, segments);
    }
    if (segments.parts() > 0) add_segments(args, context, sizes, segments);
    write_key_norms(args.shape, {args.qkv, static_cast<size_t>(args.rows * args.shape.qkv_width())},
                    args.lists.used, args.signals);
    write_key_similarities(
        {.shape = args.shape, .pool = args.pool, .lists = args.lists, .staging = args.staging, .staged = args.rows},
        args.signals, context);
}

} // namespace cpu
} // namespace palimpsest::kernels
#endif
