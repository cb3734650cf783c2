// Keys and values of one stream, allocated once: per (layer, KV head) its budget and one row more, in pages of 64
// rows from one pool, and a staging buffer for the chunk.
//
// A row is a physical place. A token has a stream index, which never changes, and a rank in its list, which is its
// position in contiguous mode and shrinks as others leave. After a prefill chunk row = rank; while decoding nothing
// moves and an order list, rank -> row, says where each token lies (architecture.md, contract 3).
//
// Not thread-safe: one owner feeds and evicts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/cache/token_list.h"
#include "kernels/backend.h"

namespace palimpsest::engine {

struct CacheShape {
    int32_t layers = 0;
    kernels::HeadShape heads;
    kernels::DType type = kernels::DType::F16;
    int32_t chunk = 1;                // rows the staging buffer holds
    bool stage_every_layer = false;   // for policies that evict after all layers
    bool with_signals = false;        // keep sums and counts
    std::vector<int32_t> list_budget; // [layers, kv_heads] tokens a list holds after eviction
};

class KvCache {
public:
    KvCache(CacheShape shape, kernels::Backend& backend); // backend must outlive this; throws Error (Resources)

    const CacheShape& shape() const { return shape_; }
    const TokenList& list(int32_t layer, int32_t head) const { return lists_[index(layer, head)]; }
    int32_t used(int32_t layer, int32_t head) const { return used_[index(layer, head)]; }
    // The most rows any list may hold between chunks.
    int32_t capacity(int32_t layer, int32_t head) const { return shape_.list_budget[index(layer, head)]; }

    kernels::KvPool pool() const;
    kernels::KvLists lists(int32_t layer);
    kernels::Staging staging(int32_t layer) const;

    // A chunk's tokens enter every list of the layer (as ranks; their keys and values still lie in staging, or, in
    // decode, in a free row).
    void append(int32_t layer, uint32_t first, int32_t rows);
    // Undoes append, before anything was evicted.
    void take_back(int32_t layer, int32_t rows);
    // Adds attention column sums [kv_heads, stride] of the newest chunk, on the host.
    void accumulate(int32_t layer, int32_t window, int32_t rows, const float* columns, int64_t stride);
    // Ends a prefill chunk: drops ranks of each head, closes the kept rows up and moves survivors in from staging.
    void evict_chunk(int32_t layer, const std::vector<std::vector<uint32_t>>& dropped);
    // Ends a decode step: drops ranks, moves nothing.
    void evict_token(int32_t layer, const std::vector<std::vector<uint32_t>>& dropped);
    // Makes row = rank everywhere, which prefill requires and decode is faster for.
    void straighten();
    // Decode evictions since the last straighten, most over layers.
    int32_t displaced() const { return displaced_; }

    KvCache clone() const;

    // Keys and values of one list in rank order, [used, head_dim] each in shape().type.
    void read(int32_t layer, int32_t head, std::vector<std::byte>& keys, std::vector<std::byte>& values);
    // Fills an empty list. REQUIRES: sizes agree with tokens and shape, tokens <= capacity.
    void write(int32_t layer, int32_t head, TokenList tokens, std::span<const std::byte> keys,
               std::span<const std::byte> values);

    int64_t slots_used() const;
    int64_t slots_capacity() const;
    size_t allocated_bytes() const; // as allocated, host and backend memory

private:
    size_t index(int32_t layer, int32_t head) const
    {
        return static_cast<size_t>(layer) * static_cast<size_t>(shape_.heads.kv_heads) + static_cast<size_t>(head);
    }
    int64_t row_bytes() const { return kernels::row_bytes(shape_.type, shape_.heads.head_dim); }

    CacheShape shape_;
    kernels::Backend* backend_;
    int64_t page_stride_ = 0;          // pages of the longest list
    kernels::Buffer keys_;             // [pages, 64, head_dim]
    kernels::Buffer values_;           // [pages, 64, head_dim]
    kernels::Buffer staging_;          // [staged layers][keys, values][kv_heads, chunk, head_dim]
    kernels::Buffer pages_;            // u32 [layers, kv_heads, page_stride]
    kernels::Buffer order_;            // u32 [layers, kv_heads, page_stride * 64]
    std::vector<uint32_t> page_table_; // host copy of pages_
    std::vector<int32_t> used_;        // [layers, kv_heads]
    std::vector<TokenList> lists_;     // [layers, kv_heads]
    std::vector<uint32_t> kept_;       // [kv_heads, longest list + chunk], scratch of evict_chunk
    std::vector<uint32_t> flat_;       // [kv_heads, most dropped], scratch of evict_token
    std::vector<int32_t> counts_;      // [kv_heads], scratch of both
    int32_t displaced_ = 0;
    bool scattered_ = false; // some order list may differ from the identity
};

} // namespace palimpsest::engine
