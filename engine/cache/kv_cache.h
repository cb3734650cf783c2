// Keys and values of one stream, allocated once: one list per layer and KV head, in pages of 64 rows from one pool,
// and a staging buffer for the chunk. TokenLists knows which token a row belongs to.
//
// A row is a physical place. A token has a stream index, which never changes, and a rank in its list. The rank is
// the token's position in contiguous mode and decreases when older tokens are evicted. After a prefill chunk row =
// rank. Decode moves no rows: an order list maps each rank to its row.
//
// Lists may have unequal lengths. If their limits add up to total_slots, every list holds the pages of its limit
// from the start. Otherwise lists share slots: they take pages from the pool and return them. A list of n tokens,
// with a row for the next one, needs ceil((n + 1) / 64) pages; all lists together need at most total_slots / 64 +
// lists, and the pool has that many.
//
// Not thread-safe: one owner feeds and evicts.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/cache/cache_shape.h"
#include "engine/cache/page_tables.h"
#include "kernels/kv_page.h"

namespace palimpsest::engine {

// Ranks of every list of one layer.
struct LayerRanks {
    const uint32_t* ranks = nullptr; // [kv_heads, stride], ascending
    int64_t stride = 0;
    std::span<const int32_t> counts{}; // [kv_heads] number of ranks of each list
    bool on_device = false;            // `ranks` is backend memory
};

class KvCache {
public:
    KvCache(CacheShape shape, kernels::Backend& backend); // backend must outlive this; throws Error (Resources)

    const CacheShape& shape() const { return shape_; }
    int32_t used(int32_t layer, int32_t head) const { return used_[shape_.list_at(layer, head)]; }
    std::span<const int32_t> used() const { return used_; } // [layers, kv_heads]
    // The most rows this list may hold between chunks.
    int32_t capacity(int32_t layer, int32_t head) const { return shape_.list_budget[shape_.list_at(layer, head)]; }
    bool shares() const { return shares_; } // lists share slots: their limits exceed the total

    kernels::KvPool pool() const;
    kernels::KvLists lists(int32_t layer);
    kernels::Staging staging(int32_t layer) const;

    // Ends a prefill chunk of a layer: keeps these ranks of each list as ranks 0, 1, 2 …; ranks from used() on are
    // rows of the staging buffer. REQUIRES: row = rank.
    void compact(int32_t layer, const LayerRanks& kept);
    // Reserves a row for one more token in every list. Call it before a decode step.
    void reserve_token();
    // Ends a decode step of a layer: adds the reserved row to each list, then removes these ranks, and moves no
    // row. REQUIRES: the stride is the largest count.
    void drop(int32_t layer, const LayerRanks& dropped);
    // Ends a decode step whose dropped ranks the backend has already removed from the order lists. `lengths`:
    // [kv_heads] tokens that each list still holds; `most_dropped`: the most ranks that one list dropped.
    void record_dropped(int32_t layer, std::span<const int32_t> lengths, int64_t most_dropped);

    // Defragments: moves rows so that row = rank in every list. Prefill requires it, and it makes decode faster.
    void defragment();
    // Upper bound of the ranks that decode has dropped from any one list since the last defragmentation.
    int32_t displaced() const { return *std::max_element(displaced_.begin(), displaced_.end()); }

    // Reads or writes one entry as f32, [head_dim] each, between append and eviction; keys as stored, rotated or
    // not. In a quantised cache, storing quantises an entry of the list again; an entry of the chunk is quantised
    // when it moves from the staging buffer into the pool.
    void load_entry(int32_t layer, int32_t head, uint32_t rank, kernels::Phase phase, std::span<float> key,
                    std::span<float> value) const;
    void store_entry(int32_t layer, int32_t head, uint32_t rank, kernels::Phase phase, std::span<const float> key,
                     std::span<const float> value);

    KvCache clone() const;
    // Copies the rows into a cache of another shape. REQUIRES: they fit, and only limits and staged rows differ.
    KvCache reshaped(CacheShape shape);

    // Reads keys and values of one list in rank order, [used, head_dim] each in shape().type (GatherArgs).
    void read(int32_t layer, int32_t head, std::vector<std::byte>& keys, std::vector<std::byte>& values);
    // Reads all lists, [layers, kv_heads], without a host wait for each.
    struct Entries {
        std::vector<std::byte>*keys = nullptr, *values = nullptr;
    };
    void read_all(std::span<const Entries> to);
    // Fills an empty list. REQUIRES: sizes agree with one another and with the shape, at most capacity() rows, and
    // all lists filled so far have at most total_slots rows together.
    void write(int32_t layer, int32_t head, std::span<const std::byte> keys, std::span<const std::byte> values);

    // Replaces all rows of one list, in rank order. REQUIRES: row = rank, and sizes agree with used().
    void overwrite(int32_t layer, int32_t head, std::span<const std::byte> keys, std::span<const std::byte> values);

    int64_t slots_used() const;
    int64_t slots_capacity() const;
    size_t allocated_bytes() const; // host and backend memory, as allocated
    // True if every page is either free or held by one list, and every list holds the pages of its rows; for tests.
    bool consistent() const;

private:
    int64_t row_bytes() const { return kernels::row_bytes(shape_.type, shape_.heads.head_dim); }
    kernels::KvPage page() const { return kernels::kv_page(shape_.type, shape_.heads.head_dim); }
    kernels::DType staged_type() const { return kernels::staging_type(shape_.type, shape_.wide); }
    int64_t staged_row_bytes() const { return kernels::row_bytes(staged_type(), shape_.heads.head_dim); }
    int64_t order_stride() const { return page_stride_ * kernels::page_rows; }

    bool grow(size_t list, int64_t rows); // false: too few free pages
    void grow_within_bound(size_t list, int64_t rows);
    void free_unused_pages(); // frees pages beyond the used rows. REQUIRES: row = rank
    bool reserve_rows();
    void copy_touched_pages(size_t list, KvCache& to) const; // REQUIRES: the same pages
    void put(size_t list, std::span<const std::byte> keys, std::span<const std::byte> values); // rows 0, 1, 2 …
    kernels::GatherArgs gathering(int32_t layer, int32_t head, const Entries& to);             // resizes `to`
    struct Place;
    Place place_in_pool(size_t list, int64_t row) const;
    Place place_of(int32_t layer, int32_t head, uint32_t rank, kernels::Phase phase) const;

    CacheShape shape_;
    kernels::Backend* backend_;
    bool shares_ = false;
    int64_t page_stride_ = 0; // pages of the longest list
    int64_t page_count_ = 0;
    kernels::Buffer keys_;      // [pages] of 64 rows (kv_page.h)
    kernels::Buffer values_;    // [pages]
    kernels::Buffer staging_;   // [staged layers][keys, values][kv_heads, staged rows, head_dim]
    kernels::Buffer pages_;     // u32 [layers, kv_heads, page_stride]
    kernels::Buffer order_;     // u32 [layers, kv_heads, page_stride * 64], valid for held pages
    PageTables tables_;         // host copy of pages_
    std::vector<int32_t> used_; // [layers, kv_heads]
    // [layers, kv_heads] The most rows that the list has used or reserved since row = rank last held.
    std::vector<int32_t> touched_;
    // [layers] An upper bound of the ranks that decode dropped from any one list since the last defragmentation.
    std::vector<int32_t> displaced_;
    bool scattered_ = false; // some order list may differ from the identity
};

} // namespace palimpsest::engine
