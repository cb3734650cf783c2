#include "engine/cache/kv_cache.h"

#include <algorithm>
#include <cassert>
#include <numeric>

#include "engine/policy/accumulator.h"

namespace palimpsest::engine {

using kernels::page_rows;

KvCache::KvCache(CacheShape shape, kernels::Backend& backend) : shape_(std::move(shape)), backend_(&backend)
{
    const auto heads = static_cast<size_t>(shape_.heads.kv_heads);
    const size_t count = static_cast<size_t>(shape_.layers) * heads;
    assert(shape_.list_budget.size() == count);

    // One row beyond the budget: the token that decode has just written, before something leaves.
    std::vector<int64_t> pages_of(count);
    for (size_t i = 0; i < count; ++i) {
        pages_of[i] = (int64_t{shape_.list_budget[i]} + 1 + page_rows - 1) / page_rows;
        page_stride_ = std::max(page_stride_, pages_of[i]);
    }
    const int64_t pages = std::accumulate(pages_of.begin(), pages_of.end(), int64_t{0});
    const auto pool_bytes = static_cast<size_t>(pages * page_rows * row_bytes());
    keys_ = kernels::Buffer(backend, pool_bytes);
    values_ = kernels::Buffer(backend, pool_bytes);
    const size_t staged_layers = shape_.stage_every_layer ? static_cast<size_t>(shape_.layers) : 1;
    staging_ =
        kernels::Buffer(backend, staged_layers * 2 * heads * static_cast<size_t>(shape_.chunk * row_bytes()));

    page_table_.assign(count * static_cast<size_t>(page_stride_), 0);
    uint32_t next = 0;
    for (size_t i = 0; i < count; ++i)
        for (int64_t p = 0; p < pages_of[i]; ++p)
            page_table_[i * static_cast<size_t>(page_stride_) + static_cast<size_t>(p)] = next++;
    pages_ = kernels::Buffer(backend, page_table_.size() * sizeof(uint32_t));
    backend.upload(pages_.data(), page_table_.data(), pages_.bytes());

    std::vector<uint32_t> identity(static_cast<size_t>(page_stride_ * page_rows));
    std::iota(identity.begin(), identity.end(), 0u);
    order_ = kernels::Buffer(backend, count * identity.size() * sizeof(uint32_t));
    for (size_t i = 0; i < count; ++i)
        backend.upload(order_.data<uint32_t>() + i * identity.size(), identity.data(),
                       identity.size() * sizeof(uint32_t));

    used_.assign(count, 0);
    lists_.resize(count);
    for (size_t i = 0; i < count; ++i) {
        const auto most = static_cast<size_t>(shape_.list_budget[i] + shape_.chunk);
        lists_[i].stream.reserve(most);
        if (!shape_.with_signals) continue;
        lists_[i].sum.reserve(most);
        lists_[i].count.reserve(most);
    }
    const auto longest = *std::max_element(shape_.list_budget.begin(), shape_.list_budget.end());
    kept_.resize(heads * static_cast<size_t>(longest + shape_.chunk));
    counts_.resize(heads);
}

kernels::KvPool KvCache::pool() const
{
    return {shape_.type, keys_.data(), values_.data()};
}

kernels::KvLists KvCache::lists(int32_t layer)
{
    const auto first = static_cast<int64_t>(index(layer, 0));
    const int64_t order_stride = page_stride_ * page_rows;
    return {.pages = pages_.data<uint32_t>() + first * page_stride_,
            .page_stride = page_stride_,
            .used = used_.data() + first,
            .order = order_.data<uint32_t>() + first * order_stride,
            .order_stride = order_stride};
}

kernels::Staging KvCache::staging(int32_t layer) const
{
    const size_t half =
        static_cast<size_t>(shape_.heads.kv_heads) * static_cast<size_t>(shape_.chunk * row_bytes());
    std::byte* base = staging_.data() + (shape_.stage_every_layer ? static_cast<size_t>(layer) * 2 * half : 0);
    return {.keys = base, .values = base + half, .capacity = shape_.chunk};
}

void KvCache::append(int32_t layer, uint32_t first, int32_t rows)
{
    for (int32_t h = 0; h < shape_.heads.kv_heads; ++h)
        lists_[index(layer, h)].append(first, rows, shape_.with_signals);
}

void KvCache::take_back(int32_t layer, int32_t rows)
{
    for (int32_t h = 0; h < shape_.heads.kv_heads; ++h) {
        TokenList& list = lists_[index(layer, h)];
        list.truncate(list.size() - static_cast<size_t>(rows));
    }
}

void KvCache::accumulate(int32_t layer, int32_t window, int32_t rows, const float* columns, int64_t stride)
{
    for (int32_t h = 0; h < shape_.heads.kv_heads; ++h) {
        TokenList& list = lists_[index(layer, h)];
        engine::accumulate(window, rows, shape_.heads.group(), {columns + h * stride, list.size()}, list.sum,
                           list.count);
    }
}

void KvCache::evict_chunk(int32_t layer, const std::vector<std::vector<uint32_t>>& dropped)
{
    const int32_t heads = shape_.heads.kv_heads;
    const auto stride = static_cast<int64_t>(kept_.size()) / heads;
    for (int32_t h = 0; h < heads; ++h) {
        uint32_t* kept = kept_.data() + h * stride;
        const auto& gone = dropped[static_cast<size_t>(h)];
        const auto n = static_cast<uint32_t>(list(layer, h).size());
        size_t next_gone = 0;
        int32_t count = 0;
        for (uint32_t rank = 0; rank < n; ++rank) {
            if (next_gone < gone.size() && gone[next_gone] == rank)
                ++next_gone;
            else
                kept[count++] = rank;
        }
        assert(count <= capacity(layer, h));
        counts_[static_cast<size_t>(h)] = count;
    }
    backend_->compact({.shape = shape_.heads,
                       .pool = pool(),
                       .lists = lists(layer),
                       .staging = staging(layer),
                       .kept = kept_.data(),
                       .kept_stride = stride,
                       .kept_count = counts_.data()});
    for (int32_t h = 0; h < heads; ++h) {
        lists_[index(layer, h)].drop(dropped[static_cast<size_t>(h)]);
        used_[index(layer, h)] = counts_[static_cast<size_t>(h)];
    }
}

void KvCache::evict_token(int32_t layer, const std::vector<std::vector<uint32_t>>& dropped)
{
    const auto heads = static_cast<size_t>(shape_.heads.kv_heads);
    size_t most = 0;
    for (const auto& gone : dropped)
        most = std::max(most, gone.size());
    flat_.resize(heads * std::max<size_t>(most, 1));
    for (size_t h = 0; h < heads; ++h) {
        std::copy(dropped[h].begin(), dropped[h].end(), flat_.begin() + static_cast<std::ptrdiff_t>(h * most));
        counts_[h] = static_cast<int32_t>(dropped[h].size());
        used_[index(layer, 0) + h] += 1;
    }
    if (most > 0) {
        backend_->drop({.kv_heads = shape_.heads.kv_heads,
                        .lists = lists(layer),
                        .dropped = flat_.data(),
                        .dropped_stride = static_cast<int64_t>(most),
                        .dropped_count = counts_.data()});
        scattered_ = true;
        if (layer == 0) displaced_ += static_cast<int32_t>(most);
    }
    for (size_t h = 0; h < heads; ++h) {
        lists_[index(layer, 0) + h].drop(dropped[h]);
        used_[index(layer, 0) + h] -= counts_[h];
    }
}

void KvCache::straighten()
{
    displaced_ = 0;
    if (!scattered_) return;
    for (int32_t layer = 0; layer < shape_.layers; ++layer)
        backend_->straighten({.shape = shape_.heads, .pool = pool(), .lists = lists(layer)});
    scattered_ = false;
}

KvCache KvCache::clone() const
{
    KvCache copy(shape_, *backend_);
    backend_->copy(copy.keys_.data(), keys_.data(), keys_.bytes());
    backend_->copy(copy.values_.data(), values_.data(), values_.bytes());
    backend_->copy(copy.order_.data(), order_.data(), order_.bytes());
    copy.used_ = used_;
    for (size_t i = 0; i < lists_.size(); ++i) { // element-wise: keeps the copy's reserved capacity
        copy.lists_[i].stream.assign(lists_[i].stream.begin(), lists_[i].stream.end());
        copy.lists_[i].sum.assign(lists_[i].sum.begin(), lists_[i].sum.end());
        copy.lists_[i].count.assign(lists_[i].count.begin(), lists_[i].count.end());
    }
    copy.displaced_ = displaced_;
    copy.scattered_ = scattered_;
    return copy;
}

void KvCache::read(int32_t layer, int32_t head, std::vector<std::byte>& keys, std::vector<std::byte>& values)
{
    const auto bytes = static_cast<size_t>(used(layer, head) * row_bytes());
    keys.resize(bytes);
    values.resize(bytes);
    backend_->gather({.shape = shape_.heads,
                      .pool = pool(),
                      .lists = lists(layer),
                      .head = head,
                      .keys = keys.data(),
                      .values = values.data()});
}

void KvCache::write(int32_t layer, int32_t head, TokenList tokens, std::span<const std::byte> keys,
                    std::span<const std::byte> values)
{
    const size_t at = index(layer, head);
    const auto n = static_cast<int64_t>(tokens.size());
    assert(used_[at] == 0 && n <= shape_.list_budget[at]);
    assert(keys.size() == static_cast<size_t>(n * row_bytes()) && values.size() == keys.size());
    for (int64_t row = 0; row < n; row += page_rows) {
        const int64_t page =
            page_table_[at * static_cast<size_t>(page_stride_) + static_cast<size_t>(row / page_rows)];
        const int64_t to = page * page_rows * row_bytes();
        const auto bytes = static_cast<size_t>(std::min<int64_t>(page_rows, n - row) * row_bytes());
        backend_->upload(keys_.data() + to, keys.data() + row * row_bytes(), bytes);
        backend_->upload(values_.data() + to, values.data() + row * row_bytes(), bytes);
    }
    TokenList& list = lists_[at];
    list.stream.assign(tokens.stream.begin(), tokens.stream.end());
    list.sum.assign(tokens.sum.begin(), tokens.sum.end());
    list.count.assign(tokens.count.begin(), tokens.count.end());
    used_[at] = static_cast<int32_t>(n);
}

int64_t KvCache::slots_used() const
{
    return std::accumulate(used_.begin(), used_.end(), int64_t{0});
}

int64_t KvCache::slots_capacity() const
{
    const int64_t chunk_slots = int64_t{shape_.layers} * shape_.heads.kv_heads * shape_.chunk;
    return std::accumulate(shape_.list_budget.begin(), shape_.list_budget.end(), chunk_slots);
}

size_t KvCache::allocated_bytes() const
{
    size_t bytes = keys_.bytes() + values_.bytes() + staging_.bytes() + pages_.bytes() + order_.bytes();
    for (const TokenList& list : lists_)
        bytes += list.allocated_bytes();
    return bytes + page_table_.capacity() * sizeof(uint32_t) +
           (used_.capacity() + counts_.capacity()) * sizeof(int32_t) +
           (kept_.capacity() + flat_.capacity()) * sizeof(uint32_t);
}

} // namespace palimpsest::engine
