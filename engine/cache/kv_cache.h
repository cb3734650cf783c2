// Keys and values of one stream, allocated once: lists of one (layer, KV head) each, in pages of 64 rows from one
// pool, and a staging buffer for the chunk.
//
// A row is a physical place. A token has a stream index, which never changes, and a rank in its list, which is its
// position in contiguous mode and shrinks as others leave. After a prefill chunk row = rank; while decoding nothing
// moves and an order list, rank -> row, says where each token lies (architecture.md, contract 3).
//
// Lists may be ragged. Where their limits add up to the total, every list holds the pages of its limit from the
// start. Where they share, pages go to and fro: sum over lists of ceil((n + 1) / 64) pages, a row for the next
// token included, is at most total / 64 + lists, so that is what the pool has.
//
// A resident cache leaves eviction to a backend that does it by itself: the host then knows at once how long every
// list is, but which tokens it holds only after settle.
//
// Not thread-safe: one owner feeds and evicts.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/cache/page_tables.h"
#include "engine/cache/resident_lists.h"
#include "engine/cache/token_list.h"
#include "engine/policy/pins.h"
#include "kernels/kv_page.h"

namespace palimpsest::engine {

struct CacheShape {
    int32_t layers = 0;
    kernels::HeadShape heads;
    kernels::DType type = kernels::DType::F16;
    kernels::DType wide = kernels::DType::F16; // what a quantised cache stages in: F16 or BF16
    int32_t staged_rows = 1;                   // rows the staging buffer holds
    bool stage_every_layer = false;            // for policies that evict after all layers
    bool with_signals = false;                 // keep sums and counts
    int32_t moments_each = 0;                  // numbers of TokenList::moments per token
    std::vector<int32_t> list_budget;          // [layers, kv_heads] the most tokens a list holds after eviction
    int64_t total_slots = 0;                   // the most tokens all lists together hold then
    bool resident = false;                     // REQUIRES: a backend that selects, limits that add up to the total
    int32_t rows_at_once = 1;                  // of a super-chunk, whose evictions a resident cache settles at once
};

// What attention showed of one list, on the host; empty what the policy did not ask for.
struct ListSignals {
    std::span<const float> columns{};                   // [n] sums or low counts
    int32_t divisor = 1;                                // of columns
    std::span<const float> head_sums{}, head_squares{}; // [group, n]
};

int64_t slots_of_limits(const CacheShape& shape); // the sum of list_budget

class KvCache {
public:
    KvCache(CacheShape shape, kernels::Backend& backend); // backend must outlive this; throws Error (Resources)

    const CacheShape& shape() const { return shape_; }
    // Of a resident cache: as last settled, without statistics.
    const TokenList& list(int32_t layer, int32_t head) const { return lists_[index(layer, head)]; }
    // A copy with all that was accumulated. REQUIRES: settled.
    TokenList tokens(int32_t layer, int32_t head) const;
    // The same with what was appended to a resident cache.
    TokenList appended_tokens(int32_t layer, int32_t head) const;
    int32_t used(int32_t layer, int32_t head) const { return used_[index(layer, head)]; }
    std::span<const int32_t> used() const { return used_; } // [layers, kv_heads]
    // The most rows any list may hold between chunks.
    int32_t capacity(int32_t layer, int32_t head) const { return shape_.list_budget[index(layer, head)]; }

    kernels::KvPool pool() const;
    kernels::KvLists lists(int32_t layer);
    kernels::Staging staging(int32_t layer) const;

    // A chunk's tokens enter every list of the layer (as ranks; their keys and values still lie in staging, or, in
    // decode, in a free row).
    void append(int32_t layer, uint32_t first, int32_t rows);
    // Undoes append of the newest tokens, before anything was evicted.
    void take_back(int32_t layer, int32_t rows);
    // Adds what the last `rows` tokens' attention showed of a list, over a window of so many queries.
    void accumulate(int32_t layer, int32_t head, int32_t window, int32_t rows, const ListSignals& seen);
    // Ends a prefill chunk: drops ranks of each head and closes the kept rows up. Survivors move in from staging at
    // once if no lists share slots. Otherwise pages are given back, and take_in moves them in, for layers that
    // share after all of these have closed up.
    void evict_chunk(int32_t layer, const std::vector<std::vector<uint32_t>>& dropped);
    void take_in(int32_t layer);
    // Finds a row for one token more in every list: comes before a decode step.
    void reserve_token();
    // Ends a decode step: drops ranks, moves nothing.
    void evict_token(int32_t layer, const std::vector<std::vector<uint32_t>>& dropped);
    // The same for a resident cache, which leaves them to its backend. First the plan is sent; then what attention
    // showed of the appended tokens is added, unless `seen` has no rows; then what the plan says leaves;
    // `step` is what SettledStep::step shall be.
    bool resident() const { return resident_.has_value(); }
    void lengths(int32_t layer, std::vector<uint32_t>& sizes) const; // [kv_heads] with what was appended
    // Tokens that the backend must not take out, in the layers where `holding` is true, in place of those before.
    // REQUIRES: settled. Throws Error (Resources), and then nothing has changed.
    void pin(const Pins& pins, std::vector<bool> holding);
    // Those among the `rows` tokens from stream index `first` on, which come behind the layer's lists.
    void pin_new(int32_t layer, uint32_t first, int32_t rows);
    void pin_appended(int32_t layer) { pin_new(layer, chunk_first_, appended_[static_cast<size_t>(layer)]); }
    std::span<const uint32_t> pinned_tokens(int32_t layer) const { return resident_->pinned_tokens(layer); }
    void send(const EvictionPlan& plan);
    void accumulate_resident(int32_t layer, int32_t probe_rows, const kernels::SignalRequest& seen);
    void evict_resident(int32_t layer, kernels::Phase phase, uint64_t step, const EvictionPlan& plan,
                        const kernels::SelectionRule& rule);
    // A generated token's evictions, which LayerStep::queue has queued; `stride` as of its dropped ranks.
    void log_token(int32_t layer, uint64_t step, const EvictionPlan& plan, int64_t stride);
    void deliver(std::span<const uint32_t> dropped) { resident_->deliver(dropped); }
    // Where things lie that the backend needs to evict.
    kernels::EvictArgs eviction(int32_t layer, kernels::Phase phase) const;
    kernels::AccumulateArgs accumulation(int32_t layer, int32_t rows, int32_t probe_rows,
                                         const kernels::SignalRequest& seen) const;
    // Lets the host's lists catch up; `sink` is told every step, in order. Nothing to do for others.
    void set_settle_sink(SettleSink sink) { settle_sink_ = std::move(sink); }
    void settle();
    // Halfway: what was evicted before turn_log was called last but one.
    void settle_earlier();
    void turn_log();
    bool is_settling() const { return resident_ && resident_->is_settling(); }

    // Makes row = rank everywhere, which prefill requires and decode is faster for.
    void straighten();
    // Decode evictions since the last straighten, most over layers.
    int32_t displaced() const { return *std::max_element(displaced_.begin(), displaced_.end()); }

    // One entry as numbers, [head_dim] each, between append and eviction; keys as they lie, rotated or not. Of a
    // quantised cache an entry of the list is quantised again when it is stored, one of the chunk when it moves in.
    void load_entry(int32_t layer, int32_t head, uint32_t rank, kernels::Phase phase, std::span<float> key,
                    std::span<float> value) const;
    void store_entry(int32_t layer, int32_t head, uint32_t rank, kernels::Phase phase, std::span<const float> key,
                     std::span<const float> value);
    TokenList& statistics(int32_t layer, int32_t head) { return lists_[index(layer, head)]; } // for merging

    KvCache clone() const;
    // The same tokens in another shape. REQUIRES: they fit it, and nothing but limits and staged rows differs.
    KvCache reshaped(CacheShape shape);

    // Keys and values of one list in rank order, [used, head_dim] each in shape().type (GatherArgs).
    void read(int32_t layer, int32_t head, std::vector<std::byte>& keys, std::vector<std::byte>& values);
    // Of all lists, [layers, kv_heads], without waiting for each.
    struct Entries {
        std::vector<std::byte>*keys = nullptr, *values = nullptr;
    };
    void read_all(std::span<const Entries> to);
    // Fills an empty list. REQUIRES: sizes agree with tokens and shape, tokens <= capacity, and with all lists
    // filled so far <= total_slots.
    void write(int32_t layer, int32_t head, const TokenList& tokens, std::span<const std::byte> keys,
               std::span<const std::byte> values);

    int64_t slots_used() const;
    int64_t slots_capacity() const;
    size_t allocated_bytes() const; // as allocated, host and backend memory
    // Whether every page is free or held once, and every list holds the pages of its rows; for tests.
    bool consistent() const;

private:
    size_t index(int32_t layer, int32_t head) const
    {
        return static_cast<size_t>(layer) * static_cast<size_t>(shape_.heads.kv_heads) + static_cast<size_t>(head);
    }
    int64_t row_bytes() const { return kernels::row_bytes(shape_.type, shape_.heads.head_dim); }
    kernels::KvPage page() const { return kernels::kv_page(shape_.type, shape_.heads.head_dim); }
    kernels::DType staged_type() const { return kernels::staging_type(shape_.type, shape_.wide); }
    int64_t staged_row_bytes() const { return kernels::row_bytes(staged_type(), shape_.heads.head_dim); }
    int64_t order_stride() const { return page_stride_ * kernels::page_rows; }
    bool shares() const { return shares_; }

    bool grow(size_t list, int64_t rows); // false: the pool is out
    void grow_within_bound(size_t list, int64_t rows);
    void give_back(); // pages beyond the used rows. REQUIRES: row = rank
    bool reserve_rows();
    void compact(int32_t layer); // to counts_ ranks of kept_
    void compact_resident(int32_t layer, const EvictionPlan& plan);
    void account(int32_t layer, kernels::Phase phase, const EvictionPlan& plan);
    kernels::GatherArgs gathering(int32_t layer, int32_t head, const Entries& to); // makes room for it
    struct Place;
    Place place_in_pool(size_t list, int64_t row) const;
    Place place_of(int32_t layer, int32_t head, uint32_t rank, kernels::Phase phase) const;

    CacheShape shape_;
    kernels::Backend* backend_;
    bool shares_ = false;
    int64_t page_stride_ = 0; // pages of the longest list
    int64_t page_count_ = 0;
    kernels::Buffer keys_;             // [pages] of 64 rows (kv_page.h)
    kernels::Buffer values_;           // [pages]
    kernels::Buffer staging_;          // [staged layers][keys, values][kv_heads, staged rows, head_dim]
    kernels::Buffer pages_;            // u32 [layers, kv_heads, page_stride]
    kernels::Buffer order_;            // u32 [layers, kv_heads, page_stride * 64], as far as pages are held
    PageTables tables_;                // host copy of pages_
    std::vector<int32_t> used_;        // [layers, kv_heads]
    std::vector<int32_t> touched_;     // [layers, kv_heads] rows from here on were free since row = rank held last
    std::vector<TokenList> lists_;     // [layers, kv_heads]
    uint32_t chunk_first_ = 0;         // stream index of the newest chunk's first token
    std::unique_ptr<uint32_t[]> kept_; // [kv_heads, longest list + staged rows], scratch of evict_chunk
    int64_t kept_stride_ = 0;
    std::vector<uint32_t> flat_;     // [kv_heads, most dropped], scratch of evict_token
    std::vector<int32_t> counts_;    // [kv_heads], scratch of both
    std::vector<int32_t> displaced_; // [layers]
    bool scattered_ = false;         // some order list may differ from the identity
    std::optional<ResidentLists> resident_;
    Pins pins_; // of a resident cache
    SettleSink settle_sink_;
    std::vector<int32_t> appended_;  // [layers] rows appended and not yet evicted, of a resident cache
    const uint32_t* plan_ = nullptr; // as last sent
};

} // namespace palimpsest::engine
