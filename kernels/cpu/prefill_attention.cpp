// Attention of a chunk: exact softmax over scores that are written out, one block of query rows at a time
// (performance.md, 4.1).
//
// Scores are kept transposed, S^T[rank][query row], with query rows in the lanes of vectors: then the maximum, the
// sum and the exponentials of a row need no sum across lanes, the two products are the micro kernel on operands as
// they lie (S^T = K Q^T, O^T = V^T S^T), and column sums cost one vector addition per rank and two vectors of rows.
//
// A lane never sees another lane, and ranks are summed in blocks at multiples of 256: the bits of a query row
// depend on the ranks it attends to, and not on the chunk's other rows.
#include "kernels/cpu/kernels.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "kernels/cpu/kv_list.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/prefill_attention.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/cpu/exp-inl.h"
#include "kernels/cpu/kv_convert-inl.h"
#include "kernels/cpu/micro_kernel-inl.h"
#include "kernels/cpu/rotate-inl.h"

#ifndef PALIMPSEST_KERNELS_CPU_PREFILL_ATTENTION_ONCE
#define PALIMPSEST_KERNELS_CPU_PREFILL_ATTENTION_ONCE
namespace palimpsest::kernels {

// Query rows of one KV head are numbered row * group + head in the group, and cut into this many segments.
inline constexpr int64_t row_segments = 4;
inline constexpr int64_t rank_block = 256;
inline constexpr int64_t pack_tiles = 32; // tiles of keys that one packing task takes

// Sizes that follow from the SIMD target and the call.
struct AttendSizes {
    int64_t dim = 0;
    int64_t tile_ranks = 0;   // of a packed tile of keys
    int64_t panel_rows = 0;   // query rows side by side in vectors
    int64_t panels = 0;       // that one block of query rows takes
    int64_t sum_lanes = 0;    // partial sums kept per rank
    int64_t padded_ranks = 0; // of the longest list and the chunk, in whole tiles

    int64_t block_rows() const { return panels * panel_rows; }
    size_t packed_floats() const { return static_cast<size_t>(padded_ranks * dim); }
    size_t score_floats() const { return static_cast<size_t>(padded_ranks * block_rows()); }
    size_t query_floats() const { return static_cast<size_t>(block_rows() * dim); }
    size_t row_floats() const { return static_cast<size_t>(std::max(tile_ranks, panel_rows) * dim); }
    size_t sum_floats() const { return static_cast<size_t>(padded_ranks * sum_lanes); }
};

// One KV head of the call: its keys as tiles [ranks / tile][dim][tile], rotated, and its values as tiles of
// dimensions [dim tiles][ranks][tile].
struct PackedHead {
    int64_t head = 0;
    int64_t ranks = 0; // kept and chunk
    float* keys = nullptr;
    float* values = nullptr;
};

struct AttendScratch {
    float* scores = nullptr;  // [panels, padded_ranks, panel_rows]
    float* queries = nullptr; // [panels, dim, panel_rows]
    float* outs = nullptr;    // the same
    float* rows = nullptr;    // [max(tile_ranks, panel_rows), dim]
    float* sums = nullptr;    // [padded_ranks, sum_lanes]
};

} // namespace palimpsest::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace palimpsest::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using F32 = hn::ScalableTag<float>;
inline constexpr int64_t half_panel = NR / 2; // lanes of a vector

AttendSizes SizesOf(const AttendArgs& args)
{
    const int32_t most = *std::max_element(args.lists.used, args.lists.used + args.shape.kv_heads);
    const int64_t ranks = static_cast<int64_t>(most) + args.rows;
    AttendSizes sizes;
    sizes.dim = args.shape.head_dim;
    sizes.tile_ranks = MR;
    sizes.panel_rows = NR;
    // Fewer rows for very long lists, or the scores leave the caches.
    sizes.panels = std::max<int64_t>(1, (ranks > 16384 ? 16 : 32) / NR);
    sizes.sum_lanes = half_panel;
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
                const int64_t r = std::min(next, rows - 4); // the last four rows may overlap those before
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

// Calls tile(first dimension, dimensions) for a split of `dim` into nearly equal tiles of at most MR.
template<class Tile>
HWY_INLINE void ForDimTiles(int64_t dim, Tile&& tile)
{
    const int64_t tiles = (dim + MR - 1) / MR;
    for (int64_t i = 0; i < tiles; ++i) {
        const int64_t first = dim * i / tiles;
        tile(first, static_cast<int>(dim * (i + 1) / tiles - first));
    }
}

// Tiles [first, last) of keys, and the values of the same ranks. `rows` holds tile_ranks rows.
void PackTiles(const AttendArgs& args, const PackedHead& packed, int64_t first_tile, int64_t last_tile, float* rows)
{
    const KvList list(args.pool, args.lists, packed.head, args.shape.head_dim);
    const int64_t dim = args.shape.head_dim, used = args.lists.used[packed.head];
    const std::byte* staged_keys = args.staging.keys + packed.head * args.staging.capacity * list.bytes_per_row();
    const std::byte* staged_values =
        args.staging.values + packed.head * args.staging.capacity * list.bytes_per_row();
    for (int64_t tile = first_tile; tile < last_tile; ++tile) {
        const int64_t first = tile * MR, count = std::min<int64_t>(MR, packed.ranks - first);
        for (int64_t i = 0; i < count; ++i) {
            const int64_t rank = first + i, staged = (rank - used) * list.bytes_per_row();
            WidenRow(args.pool.type, rank < used ? list.key(rank) : staged_keys + staged, rows + i * dim, dim);
            if (!args.rotation.keys_rotated) RotateRow(args.rotation.table, rank, rows + i * dim);
        }
        Transpose(rows, dim, count, dim, packed.keys + first * dim);
        for (int64_t i = 0; i < count; ++i) {
            const int64_t rank = first + i, staged = (rank - used) * list.bytes_per_row();
            WidenRow(args.pool.type, rank < used ? list.value(rank) : staged_values + staged, rows, dim);
            ForDimTiles(dim, [&](int64_t d0, int dims) {
                std::copy_n(rows + d0, dims, packed.values + d0 * packed.ranks + rank * dims);
            });
        }
    }
}

// NR query rows of one KV head, in lanes. A row attends to ranks [0, limit); lanes beyond the last row repeat its
// limit with zero queries, and nothing of them is read.
struct Panel {
    float* scores = nullptr;  // [ranks, NR]
    float* queries = nullptr; // [dim, NR]
    float* out = nullptr;     // [dim, NR]
    int64_t first = 0;        // query row of lane 0
    int64_t rows = 0;
    int64_t shared = 0;  // ranks that every lane attends to
    int64_t visible = 0; // ranks that some lane attends to
    HWY_ALIGN int32_t limits[NR];
    HWY_ALIGN float tops[NR];
    HWY_ALIGN float totals[NR];
};

HWY_INLINE void LoadQueries(const AttendArgs& args, int64_t head, Panel& panel, float* rows)
{
    const int64_t dim = args.shape.head_dim, group = args.shape.group(), used = args.lists.used[head];
    std::fill_n(rows, NR * dim, 0.0f);
    for (int64_t lane = 0; lane < NR; ++lane) {
        const int64_t at = panel.first + std::min(lane, panel.rows - 1), row = at / group;
        panel.limits[lane] = static_cast<int32_t>(used + row + 1);
        if (lane >= panel.rows) continue;
        const float* query = args.qkv + row * args.shape.qkv_width() + (head * group + at % group) * dim;
        for (int64_t i = 0; i < dim; ++i)
            rows[lane * dim + i] = query[i] * args.shape.scale;
        RotateRow(args.rotation.table, args.rotation.keys_rotated ? row : used + row, rows + lane * dim);
    }
    panel.shared = panel.limits[0];
    panel.visible = panel.limits[NR - 1];
    Transpose(rows, dim, NR, dim, panel.queries);
}

// Lanes of the vector at `lane` that attend to `rank`.
HWY_INLINE hn::Mask<F32> Attending(const Panel& panel, int64_t rank, int64_t lane)
{
    const hn::RebindToSigned<F32> i32;
    const auto limits = hn::Load(i32, panel.limits + lane);
    return hn::RebindMask(F32(), hn::Gt(limits, hn::Set(i32, static_cast<int32_t>(rank))));
}

// Raises the lanes' maxima by the scores of ranks [first, last).
HWY_INLINE void RaiseTops(Panel& panel, int64_t first, int64_t last)
{
    const F32 d;
    auto left = hn::Load(d, panel.tops), right = hn::Load(d, panel.tops + half_panel);
    for (int64_t rank = first; rank < std::min(last, panel.shared); ++rank) {
        left = hn::Max(left, hn::Load(d, panel.scores + rank * NR));
        right = hn::Max(right, hn::Load(d, panel.scores + rank * NR + half_panel));
    }
    for (int64_t rank = std::max(first, panel.shared); rank < std::min(last, panel.visible); ++rank) {
        const auto score_left = hn::Load(d, panel.scores + rank * NR);
        const auto score_right = hn::Load(d, panel.scores + rank * NR + half_panel);
        left = hn::IfThenElse(Attending(panel, rank, 0), hn::Max(left, score_left), left);
        right = hn::IfThenElse(Attending(panel, rank, half_panel), hn::Max(right, score_right), right);
    }
    hn::Store(left, d, panel.tops);
    hn::Store(right, d, panel.tops + half_panel);
}

// S^T = K Q^T for all panels of a block, and the maximum of every row.
HWY_INLINE void Scores(const PackedHead& packed, int64_t dim, Panel* panels, int64_t count)
{
    const F32 d;
    for (int64_t p = 0; p < count; ++p)
        for (int64_t lane = 0; lane < NR; lane += half_panel)
            hn::Store(hn::Set(d, -std::numeric_limits<float>::infinity()), d, panels[p].tops + lane);
    const int64_t visible = panels[count - 1].visible;
    for (int64_t first = 0; first < visible; first += MR) {
        const auto ranks = static_cast<int>(std::min<int64_t>(MR, packed.ranks - first));
        for (int64_t p = 0; p < count; ++p) {
            float* scores = panels[p].scores + first * NR;
            MicroTile(ranks, packed.keys + first * dim, panels[p].queries, dim, scores, NR, true);
            RaiseTops(panels[p], first, first + ranks);
        }
    }
}

// Scores of ranks [first, last) become exp(score - top), zero where a row does not attend; adds them to the totals.
HWY_INLINE void Exponentials(Panel& panel, int64_t first, int64_t last)
{
    const F32 d;
    const auto top_left = hn::Load(d, panel.tops), top_right = hn::Load(d, panel.tops + half_panel);
    auto sum_left = hn::Zero(d), sum_right = hn::Zero(d);
    for (int64_t rank = first; rank < last; ++rank) {
        float* scores = panel.scores + rank * NR;
        auto left = Exp(d, hn::Sub(hn::Load(d, scores), top_left));
        auto right = Exp(d, hn::Sub(hn::Load(d, scores + half_panel), top_right));
        if (rank >= panel.shared) {
            left = hn::IfThenElseZero(Attending(panel, rank, 0), left);
            right = hn::IfThenElseZero(Attending(panel, rank, half_panel), right);
        }
        hn::Store(left, d, scores);
        hn::Store(right, d, scores + half_panel);
        sum_left = hn::Add(sum_left, left);
        sum_right = hn::Add(sum_right, right);
    }
    hn::Store(hn::Add(hn::Load(d, panel.totals), sum_left), d, panel.totals);
    hn::Store(hn::Add(hn::Load(d, panel.totals + half_panel), sum_right), d, panel.totals + half_panel);
}

// Softmax weights, not yet divided by their totals, and O^T = V^T S^T with them.
HWY_INLINE void WeighValues(const PackedHead& packed, int64_t dim, Panel* panels, int64_t count)
{
    for (int64_t p = 0; p < count; ++p)
        std::fill_n(panels[p].totals, NR, 0.0f);
    const int64_t visible = panels[count - 1].visible;
    for (int64_t first = 0; first < visible; first += rank_block) {
        for (int64_t p = 0; p < count; ++p) {
            Panel& panel = panels[p];
            const int64_t last = std::min(first + rank_block, panel.visible);
            if (last <= first) continue;
            Exponentials(panel, first, last);
            ForDimTiles(dim, [&](int64_t d0, int dims) {
                const float* values = packed.values + d0 * packed.ranks + first * dims;
                MicroTile(dims, values, panel.scores + first * NR, last - first, panel.out + d0 * NR, NR,
                          first == 0);
            });
        }
    }
}

// Adds the probabilities of query rows from `wanted` on to the running sums: [rank][lane], lanes to be summed last.
HWY_INLINE void AddColumnSums(const Panel& panel, int64_t wanted, float* HWY_RESTRICT sums)
{
    const F32 d;
    HWY_ALIGN float shares[NR];
    for (int64_t lane = 0; lane < NR; ++lane) {
        const bool counts = lane < panel.rows && panel.first + lane >= wanted;
        shares[lane] = counts ? 1.0f / panel.totals[lane] : 0.0f;
    }
    const auto left = hn::Load(d, shares), right = hn::Load(d, shares + half_panel);
    for (int64_t rank = 0; rank < panel.visible; ++rank) {
        const float* weights = panel.scores + rank * NR;
        const auto product = hn::Mul(left, hn::Load(d, weights));
        const auto both = hn::MulAdd(right, hn::Load(d, weights + half_panel), product);
        hn::Store(hn::Add(hn::Load(d, sums + rank * half_panel), both), d, sums + rank * half_panel);
    }
}

HWY_INLINE void StoreOut(const AttendArgs& args, int64_t head, const Panel& panel, float* rows)
{
    const F32 d;
    const int64_t dim = args.shape.head_dim, group = args.shape.group();
    for (int64_t lane = 0; lane < NR; lane += half_panel) {
        const auto total = hn::Load(d, panel.totals + lane);
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

// Query rows [first, last) of one KV head; `sums` [ranks] gets what they give, unless null.
void AttendRows(const AttendArgs& args, const AttendSizes& sizes, const PackedHead& packed, int64_t first,
                int64_t last, const AttendScratch& scratch, float* sums)
{
    const F32 d;
    const int64_t dim = sizes.dim;
    const int64_t wanted_rows = std::min(args.signals.rows, args.rows);
    const int64_t wanted = (args.rows - wanted_rows) * args.shape.group();
    if (sums && last <= wanted) {
        std::fill_n(sums, packed.ranks, 0.0f);
        sums = nullptr;
    }
    if (sums) std::fill_n(scratch.sums, packed.ranks * half_panel, 0.0f);
    for (int64_t block = first; block < last; block += sizes.block_rows()) {
        Panel panels[32 / NR > 0 ? 32 / NR : 1];
        int64_t count = 0;
        for (int64_t at = block; at < std::min(block + sizes.block_rows(), last); at += NR, ++count) {
            Panel& panel = panels[count];
            panel.first = at;
            panel.rows = std::min<int64_t>(NR, last - at);
            panel.scores = scratch.scores + count * sizes.padded_ranks * NR;
            panel.queries = scratch.queries + count * dim * NR;
            panel.out = scratch.outs + count * dim * NR;
            LoadQueries(args, packed.head, panel, scratch.rows);
        }
        Scores(packed, dim, panels, count);
        WeighValues(packed, dim, panels, count);
        for (int64_t p = 0; p < count; ++p) {
            if (sums && panels[p].first + panels[p].rows > wanted) AddColumnSums(panels[p], wanted, scratch.sums);
            StoreOut(args, packed.head, panels[p], scratch.rows);
        }
    }
    if (!sums) return;
    for (int64_t rank = 0; rank < packed.ranks; ++rank)
        sums[rank] = hn::GetLane(hn::SumOfLanes(d, hn::Load(d, scratch.sums + rank * half_panel)));
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
    scratch.sums = context.worker_scratch(worker, ScratchUse::Sums).get<float>(sizes.sum_floats());
    return scratch;
}

// Packed panels take 8 bytes per rank and dimension, so only a few heads are packed at a time: enough to keep every
// thread busy.
class HeadWave {
public:
    HeadWave(const AttendArgs& args, CpuContext& context, const AttendSizes& sizes)
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
        return {first + i, args_.lists.used[first + i] + args_.rows, keys_ + offset, values_ + offset};
    }

private:
    const AttendArgs& args_;
    const AttendSizes& sizes_;
    int64_t most_;
    float *keys_ = nullptr, *values_ = nullptr;
};

void pack_wave(const AttendArgs& args, CpuContext& context, const AttendSizes& sizes, const HeadWave& wave,
               int64_t first)
{
    const auto pack_tiles_of = HWY_DYNAMIC_DISPATCH(PackTiles);
    const int64_t heads = wave.heads(first);
    const int64_t parts = (sizes.padded_ranks / sizes.tile_ranks + pack_tiles - 1) / pack_tiles;
    context.threads.run(heads * parts, [&](int64_t task, int worker) {
        const PackedHead packed = wave.at(first, task / parts);
        const int64_t tiles = (packed.ranks + sizes.tile_ranks - 1) / sizes.tile_ranks;
        const int64_t tile = task % parts * pack_tiles;
        float* rows = scratch_of(context, worker, sizes).rows;
        pack_tiles_of(args, packed, tile, std::min(tile + pack_tiles, tiles), rows);
    });
}

void attend_wave(const AttendArgs& args, CpuContext& context, const AttendSizes& sizes, const HeadWave& wave,
                 int64_t first, float* partial_sums)
{
    const auto attend_rows = HWY_DYNAMIC_DISPATCH(AttendRows);
    const int64_t heads = wave.heads(first), rows = static_cast<int64_t>(args.rows) * args.shape.group();
    const int64_t blocks = (rows + sizes.block_rows() - 1) / sizes.block_rows();
    context.threads.run(heads * row_segments, [&](int64_t task, int worker) {
        // Later rows attend to more ranks: the longest tasks first.
        const int64_t segment = row_segments - 1 - task / heads;
        const PackedHead packed = wave.at(first, task % heads);
        const int64_t begin = blocks * segment / row_segments * sizes.block_rows();
        const int64_t end = std::min(blocks * (segment + 1) / row_segments * sizes.block_rows(), rows);
        float* sums = nullptr;
        if (partial_sums) sums = partial_sums + (packed.head * row_segments + segment) * sizes.padded_ranks;
        attend_rows(args, sizes, packed, begin, end, scratch_of(context, worker, sizes), sums);
    });
}

void add_segments(const AttendArgs& args, CpuContext& context, const AttendSizes& sizes, const float* partial_sums)
{
    context.threads.run(args.shape.kv_heads, [&](int64_t head, int) {
        const float* parts = partial_sums + head * row_segments * sizes.padded_ranks;
        float* sums = args.signals.sums + head * args.signals.stride;
        for (int64_t rank = 0; rank < args.lists.used[head] + args.rows; ++rank) {
            sums[rank] = parts[rank];
            for (int64_t s = 1; s < row_segments; ++s)
                sums[rank] += parts[s * sizes.padded_ranks + rank];
        }
    });
}

} // namespace

void attend(const AttendArgs& args, CpuContext& context)
{
    if (args.rows == 0) return;
    const AttendSizes sizes = HWY_DYNAMIC_DISPATCH(SizesOf)(args);
    const HeadWave wave(args, context, sizes);
    // Here and not first in a task: a task must not throw when memory is short.
    for (int worker = 0; worker < context.threads.threads(); ++worker)
        scratch_of(context, worker, sizes);
    float* partial_sums = nullptr;
    if (args.signals.rows > 0) {
        const int64_t floats = args.shape.kv_heads * row_segments * sizes.padded_ranks;
        partial_sums = context.shared_scratch(ScratchUse::Sums).get<float>(static_cast<size_t>(floats));
    }
    for (int64_t first = 0; first < args.shape.kv_heads; first += wave.most()) {
        pack_wave(args, context, sizes, wave, first);
        attend_wave(args, context, sizes, wave, first, partial_sums);
    }
    if (partial_sums) add_segments(args, context, sizes, partial_sums);
}

} // namespace cpu
} // namespace palimpsest::kernels
#endif
