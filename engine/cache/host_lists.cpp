#include "engine/cache/host_lists.h"

#include <algorithm>
#include <cassert>
#include <numeric>

#include "engine/policy/signals/accumulator.h"

namespace palimpsest::engine {

HostLists::HostLists(const CacheShape& shape) : TokenLists(shape), kept_stride_(longest_with_chunk(shape))
{
    const auto heads = static_cast<size_t>(shape_.heads.kv_heads);
    for (size_t i = 0; i < lists_.size(); ++i)
        lists_[i].reserve(static_cast<size_t>(shape_.list_budget[i] + shape_.staged_rows), shape_.with_signals,
                          shape_.moments_each);
    kept_ = std::make_unique_for_overwrite<uint32_t[]>(heads * static_cast<size_t>(kept_stride_));
    counts_.resize(heads);
}

HostLists HostLists::clone() const
{
    HostLists copy(shape_);
    for (size_t i = 0; i < lists_.size(); ++i)
        copy.lists_[i].assign(lists_[i]); // keeps the copy's reserved capacity
    return copy;
}

void HostLists::write(int32_t layer, int32_t head, const TokenList& tokens)
{
    lists_[shape_.list_at(layer, head)].assign(tokens);
}

void HostLists::append(int32_t layer, uint32_t first, int32_t rows)
{
    chunk_first_ = first;
    for (int32_t h = 0; h < shape_.heads.kv_heads; ++h)
        lists_[shape_.list_at(layer, h)].append(first, rows, shape_.with_signals, shape_.moments_each);
}

void HostLists::undo_append(int32_t layer, int32_t rows)
{
    for (int32_t h = 0; h < shape_.heads.kv_heads; ++h) {
        TokenList& list = lists_[shape_.list_at(layer, h)];
        list.truncate(list.size() - static_cast<size_t>(rows));
    }
}

void HostLists::accumulate(int32_t layer, int32_t head, int32_t window, int32_t rows, const ListSignals& seen)
{
    TokenList& list = lists_[shape_.list_at(layer, head)];
    engine::accumulate(window, rows, seen.divisor, seen.columns, list.sum, list.count);
    if (shape_.moments_each > 0)
        accumulate_moments(window, rows, shape_.heads.group(), seen.head_sums, seen.head_squares, list.moments);
}

void HostLists::compact(int32_t layer, KvCache& cache)
{
    cache.compact(layer, {.ranks = kept_.get(), .stride = kept_stride_, .counts = counts_});
}

void HostLists::evict_chunk(int32_t layer, const std::vector<std::vector<uint32_t>>& dropped, KvCache& cache)
{
    const int32_t heads = shape_.heads.kv_heads;
    for (int32_t h = 0; h < heads; ++h) {
        uint32_t* kept = kept_of(h);
        const auto& gone = dropped[static_cast<size_t>(h)];
        const auto n = static_cast<uint32_t>(cache.shares() ? static_cast<size_t>(cache.used(layer, h))
                                                            : list(layer, h).size());
        size_t next_gone = 0;
        int32_t count = 0;
        for (uint32_t rank = 0; rank < n; ++rank) {
            if (next_gone < gone.size() && gone[next_gone] == rank)
                ++next_gone;
            else
                kept[count++] = rank;
        }
        counts_[static_cast<size_t>(h)] = count;
    }
    compact(layer, cache);
    for (int32_t h = 0; h < heads; ++h) {
        TokenList& list = lists_[shape_.list_at(layer, h)];
        list.drop(dropped[static_cast<size_t>(h)]);
        assert(list.size() <= static_cast<size_t>(cache.capacity(layer, h)));
    }
}

void HostLists::move_in_chunk(int32_t layer, KvCache& cache)
{
    if (!cache.shares()) return;
    for (int32_t h = 0; h < shape_.heads.kv_heads; ++h) {
        const auto& stream = list(layer, h).stream;
        const int32_t old = cache.used(layer, h);
        uint32_t* kept = kept_of(h);
        std::iota(kept, kept + old, 0u);
        for (size_t rank = static_cast<size_t>(old); rank < stream.size(); ++rank)
            kept[rank] = static_cast<uint32_t>(old) + stream[rank] - chunk_first_;
        counts_[static_cast<size_t>(h)] = static_cast<int32_t>(stream.size());
    }
    compact(layer, cache);
}

void HostLists::evict_token(int32_t layer, const std::vector<std::vector<uint32_t>>& dropped, KvCache& cache)
{
    size_t most = 0;
    for (const auto& gone : dropped)
        most = std::max(most, gone.size());
    flat_.resize(counts_.size() * std::max<size_t>(most, 1));
    for (size_t h = 0; h < counts_.size(); ++h) {
        std::copy(dropped[h].begin(), dropped[h].end(), flat_.begin() + static_cast<std::ptrdiff_t>(h * most));
        counts_[h] = static_cast<int32_t>(dropped[h].size());
    }
    cache.drop(layer, {.ranks = flat_.data(), .stride = static_cast<int64_t>(most), .counts = counts_});
    for (size_t h = 0; h < counts_.size(); ++h)
        lists_[shape_.list_at(layer, 0) + h].drop(dropped[h]);
}

size_t HostLists::allocated_bytes() const
{
    const size_t kept = counts_.size() * static_cast<size_t>(kept_stride_);
    return allocated_bytes_of_lists() + counts_.capacity() * sizeof(int32_t) +
           (kept + flat_.capacity()) * sizeof(uint32_t);
}

} // namespace palimpsest::engine
