#include "engine/cache/kv_cache.h"

#include <algorithm>
#include <cassert>
#include <numeric>
#include <string>

#include "kernels/base/convert.h"
#include "kernels/base/error.h"

namespace palimpsest::engine {
namespace {

using kernels::page_rows;

int64_t pages_for(int64_t rows)
{
    return (rows + page_rows - 1) / page_rows;
}

// One row beyond the limit holds the token that decode has just written, before the eviction.
int64_t longest_table(const CacheShape& shape)
{
    return pages_for(int64_t{*std::max_element(shape.list_budget.begin(), shape.list_budget.end())} + 1);
}

int64_t pages_of_pool(const CacheShape& shape)
{
    int64_t separate = 0;
    for (const int32_t limit : shape.list_budget)
        separate += pages_for(int64_t{limit} + 1);
    return std::min(separate, shape.total_slots / page_rows + std::ssize(shape.list_budget));
}

} // namespace

KvCache::KvCache(CacheShape shape, kernels::Backend& backend)
    : shape_(std::move(shape)), backend_(&backend), shares_(shape_.total_slots < slots_of_limits(shape_)),
      page_stride_(longest_table(shape_)), page_count_(pages_of_pool(shape_)),
      tables_(shape_.list_budget.size(), page_stride_, page_count_)
{
    const auto heads = static_cast<size_t>(shape_.heads.kv_heads);
    const size_t count = static_cast<size_t>(shape_.layers) * heads;
    assert(shape_.list_budget.size() == count && shape_.total_slots <= slots_of_limits(shape_));

    const auto pool_bytes = static_cast<size_t>(page_count_ * page().bytes());
    keys_ = kernels::Buffer(backend, pool_bytes);
    values_ = kernels::Buffer(backend, pool_bytes);
    const size_t staged_layers = shape_.stage_every_layer ? static_cast<size_t>(shape_.layers) : 1;
    staging_ = kernels::Buffer(backend, staged_layers * 2 * heads *
                                            static_cast<size_t>(shape_.staged_rows * staged_row_bytes()));
    pages_ = kernels::Buffer(backend, tables_.table().size_bytes());
    order_ = kernels::Buffer(backend, count * static_cast<size_t>(order_stride()) * sizeof(uint32_t));

    used_.assign(count, 0);
    touched_.assign(count, 0);
    for (size_t i = 0; i < count && !shares_; ++i)
        grow_within_bound(i, int64_t{shape_.list_budget[i]} + 1);
    displaced_.resize(static_cast<size_t>(shape_.layers));
    assert(!shape_.resident || !shares_);
}

kernels::KvPool KvCache::pool() const
{
    return {shape_.type, keys_.data(), values_.data()};
}

kernels::KvLists KvCache::lists(int32_t layer)
{
    const auto first = static_cast<int64_t>(shape_.list_at(layer, 0));
    return {.pages = pages_.data<uint32_t>() + first * page_stride_,
            .page_stride = page_stride_,
            .used = used_.data() + first,
            .order = order_.data<uint32_t>() + first * order_stride(),
            .order_stride = order_stride()};
}

kernels::Staging KvCache::staging(int32_t layer) const
{
    const size_t half =
        static_cast<size_t>(shape_.heads.kv_heads) * static_cast<size_t>(shape_.staged_rows * staged_row_bytes());
    std::byte* base = staging_.data() + (shape_.stage_every_layer ? static_cast<size_t>(layer) * 2 * half : 0);
    return {.keys = base, .values = base + half, .capacity = shape_.staged_rows, .type = staged_type()};
}

// In a newly taken page the order list starts as the identity: row = rank.
bool KvCache::grow(size_t list, int64_t rows)
{
    const int64_t before = tables_.held(list), after = pages_for(rows);
    if (after <= before) return true;
    if (!tables_.grow(list, after)) return false;
    const int64_t at = static_cast<int64_t>(list) * page_stride_ + before;
    backend_->upload(pages_.data<uint32_t>() + at, tables_.table().data() + at,
                     static_cast<size_t>(after - before) * sizeof(uint32_t));
    uint32_t own[page_rows];
    for (int64_t page = before; page < after; ++page) {
        std::iota(own, own + page_rows, static_cast<uint32_t>(page * page_rows));
        backend_->upload(order_.data<uint32_t>() + static_cast<int64_t>(list) * order_stride() + page * page_rows,
                         own, sizeof own);
    }
    return true;
}

void KvCache::grow_within_bound(size_t list, int64_t rows)
{
    if (grow(list, rows)) return;
    throw Error(ErrorKind::Internal, ErrorCode::CacheOverfull, Text("cache"),
                Text("its lists hold more than the {0} tokens of their policy", shape_.total_slots),
                Text("report this with the options used"));
}

void KvCache::free_unused_pages()
{
    for (size_t i = 0; i < used_.size(); ++i) {
        touched_[i] = used_[i];
        if (shares_) tables_.shrink(i, pages_for(used_[i]));
    }
}

bool KvCache::reserve_rows()
{
    for (size_t i = 0; i < used_.size(); ++i) {
        touched_[i] = std::max(touched_[i], used_[i] + 1);
        if (!grow(i, touched_[i])) return false;
    }
    return true;
}

void KvCache::reserve_token()
{
    if (reserve_rows()) return;
    defragment();
    for (size_t i = 0; i < used_.size(); ++i)
        grow_within_bound(i, int64_t{used_[i]} + 1);
    reserve_rows();
}

void KvCache::compact(int32_t layer, const LayerRanks& kept)
{
    const size_t first = shape_.list_at(layer, 0);
    for (size_t h = 0; h < kept.counts.size(); ++h) {
        assert(kept.counts[h] <= shape_.list_budget[first + h]);
        grow_within_bound(first + h, kept.counts[h]);
    }
    backend_->compact({.shape = shape_.heads,
                       .pool = pool(),
                       .lists = lists(layer),
                       .staging = staging(layer),
                       .kept = kept.on_device ? nullptr : kept.ranks,
                       .kept_stride = kept.stride,
                       .kept_count = kept.counts.data(),
                       .device_kept = kept.on_device ? kept.ranks : nullptr});
    for (size_t h = 0; h < kept.counts.size(); ++h) {
        used_[first + h] = touched_[first + h] = kept.counts[h];
        if (shares_) tables_.shrink(first + h, pages_for(kept.counts[h]));
    }
}

void KvCache::drop(int32_t layer, const LayerRanks& dropped)
{
    const size_t first = shape_.list_at(layer, 0);
    for (size_t h = 0; h < dropped.counts.size(); ++h)
        used_[first + h] += 1;
    if (dropped.stride > 0) {
        backend_->drop({.kv_heads = shape_.heads.kv_heads,
                        .lists = lists(layer),
                        .dropped = dropped.ranks,
                        .dropped_stride = dropped.stride,
                        .dropped_count = dropped.counts.data()});
        scattered_ = true;
        displaced_[static_cast<size_t>(layer)] += static_cast<int32_t>(dropped.stride);
    }
    for (size_t h = 0; h < dropped.counts.size(); ++h)
        used_[first + h] -= dropped.counts[h];
}

void KvCache::record_dropped(int32_t layer, std::span<const int32_t> lengths, int64_t most_dropped)
{
    std::copy(lengths.begin(), lengths.end(),
              used_.begin() + static_cast<std::ptrdiff_t>(shape_.list_at(layer, 0)));
    if (most_dropped == 0) return;
    scattered_ = true;
    displaced_[static_cast<size_t>(layer)] += static_cast<int32_t>(most_dropped);
}

void KvCache::defragment()
{
    std::fill(displaced_.begin(), displaced_.end(), 0);
    if (scattered_) {
        for (int32_t layer = 0; layer < shape_.layers; ++layer)
            backend_->defragment({.shape = shape_.heads, .pool = pool(), .lists = lists(layer)});
    }
    scattered_ = false;
    free_unused_pages();
}

namespace {

// Address of one row in backend memory.
struct RowPlace {
    kernels::DType type;
    std::byte* elements;
    std::byte* scales;
};

void load_row(kernels::Backend& backend, const RowPlace& from, std::span<float> to)
{
    const kernels::KvPage page = kernels::kv_page(from.type, std::ssize(to));
    std::vector<std::byte> elements(static_cast<size_t>(page.element_bytes));
    std::vector<std::byte> scales(static_cast<size_t>(page.scale_bytes));
    std::vector<std::byte> row(elements.size() + scales.size());
    backend.download(elements.data(), from.elements, elements.size());
    if (!scales.empty()) backend.download(scales.data(), from.scales, scales.size());
    kernels::join_rows(page, elements.data(), scales.data(), 1, row.data());
    kernels::to_f32(from.type, row.data(), to.data(), std::ssize(to));
}

// Uploads `count` contiguous rows; `to` is the address of the first. REQUIRES: all are in one page.
void upload_rows(kernels::Backend& backend, const kernels::KvPage& page, const std::byte* rows, int64_t count,
                 const RowPlace& to)
{
    std::vector<std::byte> elements(static_cast<size_t>(count * page.element_bytes));
    std::vector<std::byte> scales(static_cast<size_t>(count * page.scale_bytes));
    kernels::split_rows(page, rows, count, elements.data(), scales.data());
    backend.upload(to.elements, elements.data(), elements.size());
    if (!scales.empty()) backend.upload(to.scales, scales.data(), scales.size());
}

void store_row(kernels::Backend& backend, std::span<const float> from, const RowPlace& to)
{
    const kernels::KvPage page = kernels::kv_page(to.type, std::ssize(from));
    std::vector<std::byte> row(static_cast<size_t>(page.element_bytes + page.scale_bytes));
    kernels::from_f32(to.type, from.data(), row.data(), std::ssize(from));
    upload_rows(backend, page, row.data(), 1, to);
}

} // namespace

struct KvCache::Place {
    RowPlace key, value;
};

KvCache::Place KvCache::place_in_pool(size_t list, int64_t row) const
{
    const kernels::KvPage in = page();
    const int64_t at = int64_t{tables_.page(list, row / page_rows)} * in.bytes();
    const int64_t elements = at + in.elements_at(row % page_rows), scales = at + in.scales_at(row % page_rows);
    return {{shape_.type, keys_.data() + elements, keys_.data() + scales},
            {shape_.type, values_.data() + elements, values_.data() + scales}};
}

KvCache::Place KvCache::place_of(int32_t layer, int32_t head, uint32_t rank, kernels::Phase phase) const
{
    const size_t list = shape_.list_at(layer, head);
    const int64_t old = used_[list];
    if (phase == kernels::Phase::Prefill && rank >= old) {
        const kernels::Staging staged = staging(layer);
        const int64_t at = (head * staged.capacity + rank - old) * staged_row_bytes();
        return {{staged.type, staged.keys + at, nullptr}, {staged.type, staged.values + at, nullptr}};
    }
    uint32_t row = 0;
    backend_->download(&row, order_.data<uint32_t>() + static_cast<int64_t>(list) * order_stride() + rank,
                       sizeof row);
    return place_in_pool(list, row);
}

void KvCache::load_entry(int32_t layer, int32_t head, uint32_t rank, kernels::Phase phase, std::span<float> key,
                         std::span<float> value) const
{
    const Place place = place_of(layer, head, rank, phase);
    load_row(*backend_, place.key, key);
    load_row(*backend_, place.value, value);
}

void KvCache::store_entry(int32_t layer, int32_t head, uint32_t rank, kernels::Phase phase,
                          std::span<const float> key, std::span<const float> value)
{
    const Place place = place_of(layer, head, rank, phase);
    store_row(*backend_, key, place.key);
    store_row(*backend_, value, place.value);
}

// Pages that follow each other are copied as one.
void KvCache::copy_touched_pages(size_t list, KvCache& to) const
{
    const int64_t bytes = page().bytes(), count = std::min(pages_for(touched_[list]), tables_.held(list));
    for (int64_t first = 0, next = 1; first < count; first = next++) {
        const uint32_t page = tables_.page(list, first);
        while (next < count && tables_.page(list, next) == page + static_cast<uint32_t>(next - first))
            ++next;
        const auto run = static_cast<size_t>((next - first) * bytes);
        backend_->copy(to.keys_.data() + page * bytes, keys_.data() + page * bytes, run);
        backend_->copy(to.values_.data() + page * bytes, values_.data() + page * bytes, run);
    }
}

KvCache KvCache::clone() const
{
    KvCache copy(shape_, *backend_);
    for (size_t i = 0; i < used_.size(); ++i)
        copy_touched_pages(i, copy);
    backend_->copy(copy.pages_.data(), pages_.data(), pages_.bytes());
    backend_->copy(copy.order_.data(), order_.data(), order_.bytes());
    copy.tables_ = tables_;
    copy.used_ = used_;
    copy.touched_ = touched_;
    copy.displaced_ = displaced_;
    copy.scattered_ = scattered_;
    return copy;
}

KvCache KvCache::reshaped(CacheShape shape)
{
    KvCache copy(std::move(shape), *backend_);
    std::vector<std::byte> keys, values;
    for (int32_t l = 0; l < shape_.layers; ++l)
        for (int32_t h = 0; h < shape_.heads.kv_heads; ++h) {
            read(l, h, keys, values);
            copy.write(l, h, keys, values);
        }
    return copy;
}

kernels::GatherArgs KvCache::gathering(int32_t layer, int32_t head, const Entries& to)
{
    const auto bytes = static_cast<size_t>(used(layer, head) * row_bytes());
    to.keys->resize(bytes);
    to.values->resize(bytes);
    return {.shape = shape_.heads,
            .pool = pool(),
            .lists = lists(layer),
            .head = head,
            .keys = to.keys->data(),
            .values = to.values->data()};
}

void KvCache::read(int32_t layer, int32_t head, std::vector<std::byte>& keys, std::vector<std::byte>& values)
{
    backend_->gather(gathering(layer, head, {&keys, &values}));
}

void KvCache::read_all(std::span<const Entries> to)
{
    std::vector<kernels::GatherArgs> lists;
    for (int32_t l = 0; l < shape_.layers; ++l)
        for (int32_t h = 0; h < shape_.heads.kv_heads; ++h)
            lists.push_back(gathering(l, h, to[shape_.list_at(l, h)]));
    backend_->gather_all(lists);
}

void KvCache::write(int32_t layer, int32_t head, std::span<const std::byte> keys, std::span<const std::byte> values)
{
    const size_t at = shape_.list_at(layer, head);
    const int64_t n = std::ssize(keys) / row_bytes();
    assert(used_[at] == 0 && n <= shape_.list_budget[at]);
    assert(keys.size() == static_cast<size_t>(n * row_bytes()) && values.size() == keys.size());
    grow_within_bound(at, n);
    put(at, keys, values);
    used_[at] = touched_[at] = static_cast<int32_t>(n);
}

void KvCache::overwrite(int32_t layer, int32_t head, std::span<const std::byte> keys,
                        std::span<const std::byte> values)
{
    assert(!scattered_ && std::ssize(keys) == used(layer, head) * row_bytes() && values.size() == keys.size());
    put(shape_.list_at(layer, head), keys, values);
}

void KvCache::put(size_t list, std::span<const std::byte> keys, std::span<const std::byte> values)
{
    const int64_t n = std::ssize(keys) / row_bytes();
    for (int64_t row = 0; row < n; row += page_rows) {
        const Place to = place_in_pool(list, row);
        const int64_t count = std::min<int64_t>(page_rows, n - row);
        upload_rows(*backend_, page(), keys.data() + row * row_bytes(), count, to.key);
        upload_rows(*backend_, page(), values.data() + row * row_bytes(), count, to.value);
    }
}

int64_t KvCache::slots_used() const
{
    return std::accumulate(used_.begin(), used_.end(), int64_t{0});
}

int64_t KvCache::slots_capacity() const
{
    return shape_.total_slots + std::ssize(used_) * shape_.staged_rows;
}

bool KvCache::consistent() const
{
    for (size_t i = 0; i < used_.size(); ++i)
        if (used_[i] > touched_[i] || pages_for(touched_[i]) > tables_.held(i)) return false;
    return slots_used() <= shape_.total_slots && tables_.consistent();
}

size_t KvCache::allocated_bytes() const
{
    return keys_.bytes() + values_.bytes() + staging_.bytes() + pages_.bytes() + order_.bytes() +
           tables_.allocated_bytes() +
           (used_.capacity() + touched_.capacity() + displaced_.capacity()) * sizeof(int32_t);
}

} // namespace palimpsest::engine
