// The tokens of every list of a cache, apart from their keys and values (KvCache): HostLists has all statistics in
// host memory; with DeviceLists the device has them and evicts.
//
// Not thread-safe: one owner feeds and evicts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/cache/cache_shape.h"
#include "engine/cache/token_list.h"
#include "engine/policy/pins.h"

namespace palimpsest::engine {

class TokenLists {
public:
    virtual ~TokenLists() = default;

    const CacheShape& shape() const { return shape_; }
    // Device-resident caches: returns the list as of the last sync, without statistics.
    const TokenList& list(int32_t layer, int32_t head) const { return lists_[shape_.list_at(layer, head)]; }
    // Copies the list with its accumulated statistics. REQUIRES: synced.
    virtual TokenList tokens(int32_t layer, int32_t head) const = 0;
    // Replaces a list. REQUIRES: its size and statistics fit the shape; KvCache::write replaces its rows.
    virtual void write(int32_t layer, int32_t head, const TokenList& tokens) = 0;

    // Replaces the pinned tokens, which a backend that evicts must keep in the layers where `holding` is true.
    // Where the host evicts, the policy keeps them, and this has no effect. REQUIRES: synced. Throws Error
    // (Resources), and then nothing has changed.
    virtual void pin(const Pins& /*pins*/, const std::vector<bool>& /*holding*/) {}

    // Lists in host memory are always synced. sync() downloads the eviction log and applies it to the host's lists.
    virtual void sync() {}
    // Like sync(), but leaves out the steps logged since the last switch_log() but one, so as not to wait for them.
    virtual void sync_earlier() {}
    virtual void switch_log() {}
    virtual bool is_syncing() const { return false; }

    virtual size_t allocated_bytes() const = 0; // host and backend memory, as allocated

protected:
    explicit TokenLists(const CacheShape& shape) : shape_(shape), lists_(shape.list_budget.size()) {}
    TokenLists(TokenLists&&) = default;
    TokenLists& operator=(TokenLists&&) = default;

    size_t allocated_bytes_of_lists() const;

    CacheShape shape_;
    std::vector<TokenList> lists_; // [layers, kv_heads]
};

} // namespace palimpsest::engine
