#include "kernels/cuda/scratch_bound.h"

#include <algorithm>

#include "kernels/cuda/attention/decode_signals.h"
#include "kernels/cuda/attention/gini.h"
#include "kernels/cuda/attention/prefill_forward.h"
#include "kernels/cuda/attention/prefill_signals.h"
#include "kernels/cuda/device/kernels.h"
#include "kernels/cuda/linear/cublaslt.h"
#include "kernels/cuda/linear/dequantise.h"

namespace palimpsest::kernels::cuda {
namespace {

int64_t up_to_multiple(int64_t count, int64_t of)
{
    return (count + of - 1) / of * of;
}

class Bound {
public:
    Bound(const WorkBounds& work, const CudaContext& context)
        : work_(work), context_(context), lists_(work.heads.kv_heads), queries_(work.heads.query_heads),
          stacked_(work.chunk_rows * work.heads.group()), query_stride_(up_to_multiple(stacked_, row_padding)),
          key_stride_(up_to_multiple(work.ranks, row_padding)),
          list_bytes_(2 * work.token_ranks * row_bytes(work.pool, work.heads.head_dim))
    {
    }

    ScratchSizes sizes()
    {
        for (const HostMatrix& weight : work_.weights)
            product(weight);
        attention();
        if (has_signals()) signals();
        decode();
        moves();
        if (work_.finishes) need(ScratchUse::Unfinished, work_.rows * work_.width * 4);
        need(ScratchUse::BestLogits, static_cast<int64_t>(best_logits_bytes(work_.vocabulary)));
        if (work_.evicts) eviction();
        return sizes_;
    }

private:
    void need(ScratchUse use, int64_t bytes)
    {
        size_t& size = sizes_[static_cast<size_t>(use)];
        size = std::max(size, static_cast<size_t>(bytes));
    }

    bool has_signals() const { return wants_signals(work_.signals); }

    // Bounds make_rows, weight_operand and the product by cuBLASLt.
    void product(const HostMatrix& weight)
    {
        const WeightPlanes part{
            .type = weight.type, .rows = weight.rows, .cols = weight.cols, .stride = operand_stride(weight.cols)};
        const DType type = operand_type(weight.type, context_);
        // The down projection multiplies at most most_hidden_rows at a time, unless another weight has its width.
        const bool of_hidden = weight.cols == work_.hidden;
        const bool of_others = weight.cols == attended_width() || weight.cols == work_.width;
        const int64_t rows = of_hidden && !of_others ? std::min(work_.rows, most_hidden_rows) : work_.rows;
        if (of_hidden) need(ScratchUse::Hidden, std::min(work_.rows, most_hidden_rows) * 2 * weight.cols * 4);
        need(ScratchUse::NarrowedRows, rows * (part.stride * (type == DType::F32 ? 4 : 2) + 4));
        if (type != weight.type)
            need(ScratchUse::DequantisedWeight,
                 std::min(part.rows, rows_at_once(part, context_)) * (part.stride * 2 + 4));
        const auto workspace = static_cast<int64_t>(library_workspace(context_));
        need(ScratchUse::Workspace, workspace);
        if (workspace > 0 && type == DType::F16) need(ScratchUse::Partials, rows * part.rows * 4);
    }

    int64_t attended_width() const { return queries_ * work_.heads.head_dim; }

    void attention() // bounds rotate_rows and attend
    {
        AttendArgs args;
        args.shape = work_.heads;
        args.pool.type = work_.pool;
        args.staging.type = work_.staging;
        const int64_t element = suits_tensor_cores(args, context_) ? 2 : 4;
        need(ScratchUse::RotatedKeys, lists_ * (query_stride_ + key_stride_) * work_.heads.head_dim * element);
        need(ScratchUse::Scores, lists_ * query_stride_ * 4);
    }

    void signals() // bounds prefill_signals
    {
        const SignalRequest& wanted = work_.signals;
        const int64_t group = work_.heads.group();
        const int64_t rows = std::min<int64_t>(wanted.rows, work_.chunk_rows);
        const int64_t split_rows = std::max<int64_t>(split_stacked_rows / group, 1);
        const int64_t planes = (wanted.sums != nullptr) + (wanted.low_counts != nullptr) +
                               (wanted.entropies != nullptr) +
                               group * ((wanted.head_sums != nullptr) + (wanted.head_squares != nullptr));
        need(ScratchUse::Partials, (rows + split_rows - 1) / split_rows * lists_ * key_stride_ * planes * 4);
        if (wanted.outside_newest >= 0) need(ScratchUse::NormedRows, lists_ * query_stride_ * 4);
        if (wanted.row_statistic == RowStatistic::None) return;
        const int64_t tasks = lists_ * rows * group;
        const int64_t blocks = std::min<int64_t>(tasks, 2 * std::max(context_.multiprocessors(), 1));
        const bool gini = wanted.row_statistic == RowStatistic::Gini;
        need(ScratchUse::RowStatistics, (tasks + (gini ? blocks * gini_floats(key_stride_) : 0)) * 4);
    }

    void decode() // bounds decode_attend, decode_signals and page retrieval
    {
        const int64_t splits = (work_.token_ranks + split_ranks - 1) / split_ranks;
        const bool retrieves = work_.retrieval.pages.bounds != nullptr;
        need(ScratchUse::Partials, partial_floats(queries_, splits, work_.heads.head_dim) * 4);
        need(ScratchUse::Tickets, ticket_count(lists_, splits) * 4);
        if (retrieves && work_.retrieval.top_p > 0) need(ScratchUse::Scores, queries_ * splits * split_ranks * 4);
        if (has_signals()) {
            for (const ScratchUse use : {ScratchUse::Watched, ScratchUse::WatchedToo})
                need(use, queries_ * splits * (1 + split_ranks) * 4);
            const bool gini = work_.signals.row_statistic == RowStatistic::Gini;
            const int64_t per_head =
                1 + (gini ? gini_floats(work_.token_ranks) : 0) + (retrieves ? work_.token_ranks : 0);
            need(ScratchUse::RowStatistics, queries_ * per_head * 4);
        }
        if (!retrieves) return;
        const int64_t pages = lists_ * (work_.token_ranks / work_.retrieval.pages.page + 1);
        const int64_t read = std::min<int64_t>(
            work_.token_ranks, std::max<int64_t>(work_.retrieval.tokens,
                                                 int64_t{work_.retrieval.max_pages} * work_.retrieval.pages.page));
        need(ScratchUse::PageScores, pages * 4);
        need(ScratchUse::ReadRanks, (pages + lists_ * read) * 4);
    }

    void moves() // bounds compact, drop, defragment and gather
    {
        // The same as most_scratch and most_in_ring in attention/kv_rows.cu: change both.
        constexpr int64_t most_at_once = int64_t{32} << 20, most_ranks_in_ring = int64_t{256} << 10;
        const int64_t lists = std::clamp<int64_t>(most_at_once / std::max<int64_t>(list_bytes_, 1), 1, lists_);
        need(ScratchUse::MovedRows, lists * list_bytes_);
        const int64_t sent = lists_ * (work_.ranks + 4) * 4; // the kept ranks, if they do not fit the send ring
        if (sent > most_ranks_in_ring) need(ScratchUse::MovedRows, sent);
        need(ScratchUse::ReadRanks, lists_ * 4);
    }

    void eviction() // bounds evict
    {
        // Repeats room_of in eviction/eviction.cu: change both.
        constexpr int64_t key_bytes = 8, word_bits = 32;
        const int64_t bit_words = (work_.ranks + word_bits - 1) / word_bits;
        need(ScratchUse::EvictionScores, lists_ * work_.ranks * key_bytes);
        need(ScratchUse::EvictionRanks, lists_ * (2 * bit_words + work_.ranks) * 4);
    }

    const WorkBounds& work_;
    const CudaContext& context_;
    // lists_: KV heads; queries_: query heads; stacked_: query rows of a KV head (prefill_rows.h).
    int64_t lists_, queries_, stacked_, query_stride_, key_stride_, list_bytes_;
    ScratchSizes sizes_{};
};

} // namespace

ScratchSizes scratch_bound(const WorkBounds& work, const CudaContext& context)
{
    return Bound(work, context).sizes();
}

uint64_t sum_of(const ScratchSizes& sizes)
{
    uint64_t sum = 0;
    for (const size_t size : sizes)
        sum += size;
    return sum;
}

} // namespace palimpsest::kernels::cuda
