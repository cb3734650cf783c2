// Lists whose tokens and statistics are in host memory: the policy chooses what to evict on the host.
#pragma once

#include <memory>
#include <span>

#include "engine/cache/kv_cache.h"
#include "engine/cache/token_lists.h"

namespace palimpsest::engine {

// Signals of one list, in host memory. Spans that the policy did not request are empty.
struct ListSignals {
    std::span<const float> columns{};                   // [n] column sums or low counts
    int32_t divisor = 1;                                // the number that `columns` are divided by
    std::span<const float> head_sums{}, head_squares{}; // [group, n]
};

class HostLists final : public TokenLists {
public:
    explicit HostLists(const CacheShape& shape);
    HostLists clone() const;

    TokenList tokens(int32_t layer, int32_t head) const override { return list(layer, head); }
    void write(int32_t layer, int32_t head, const TokenList& tokens) override;
    TokenList& statistics(int32_t layer, int32_t head)
    {
        return lists_[shape_.list_at(layer, head)];
    } // for merging
    size_t allocated_bytes() const override;

    // Appends a chunk's tokens to every list of the layer, as ranks only: their keys and values are still in the
    // staging buffer or, in decode, in a free row.
    void append(int32_t layer, uint32_t first, int32_t rows);
    // Removes the newest `rows` tokens from every list of the layer again. REQUIRES: nothing was evicted since they
    // were appended.
    void undo_append(int32_t layer, int32_t rows);
    // Adds the signals of a chunk of `rows` tokens to a list's statistics, for an observation window of `window`
    // queries.
    void accumulate(int32_t layer, int32_t head, int32_t window, int32_t rows, const ListSignals& seen);

    // Ends a prefill chunk: drops `dropped` ranks of each head and compacts the kept rows. If lists do not share
    // slots, this also moves the chunk's kept rows from the staging buffer into the pool. If they do, this compacts
    // only the old rows, which frees pages; move_in_chunk() then moves the chunk's rows, once all lists of the step
    // have freed theirs.
    void evict_chunk(int32_t layer, const std::vector<std::vector<uint32_t>>& dropped, KvCache& cache);
    void move_in_chunk(int32_t layer, KvCache& cache);
    // Ends a decode step: drops `dropped` ranks of each head and moves no rows.
    void evict_token(int32_t layer, const std::vector<std::vector<uint32_t>>& dropped, KvCache& cache);

private:
    uint32_t* kept_of(int32_t head) const { return kept_.get() + head * kept_stride_; }
    void compact(int32_t layer, KvCache& cache); // list h keeps the first counts_[h] ranks of kept_of(h)

    uint32_t chunk_first_ = 0;         // stream index of the newest chunk's first token
    std::unique_ptr<uint32_t[]> kept_; // [kv_heads, longest list + staged rows], scratch of evict_chunk
    int64_t kept_stride_;
    std::vector<uint32_t> flat_;  // [kv_heads, most dropped], scratch of evict_token
    std::vector<int32_t> counts_; // [kv_heads], scratch of evictions
};

} // namespace palimpsest::engine
