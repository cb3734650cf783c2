// The device-resident part of KvCache.
#include <algorithm>
#include <cassert>

#include "engine/cache/kv_cache.h"
#include "engine/policy/signals/accumulator.h"

namespace palimpsest::engine {

void KvCache::lengths(int32_t layer, std::vector<uint32_t>& sizes) const
{
    sizes.clear();
    for (int32_t h = 0; h < shape_.heads.kv_heads; ++h)
        sizes.push_back(static_cast<uint32_t>(used(layer, h) + appended_[static_cast<size_t>(layer)]));
}

void KvCache::pin(const Pins& pins, std::vector<bool> holding)
{
    assert(resident_ && resident_->is_synced());
    std::vector<std::vector<uint32_t>> ranks(lists_.size());
    for (size_t i = 0; i < ranks.size(); ++i)
        if (holding[i / static_cast<size_t>(shape_.heads.kv_heads)]) pins.pinned(lists_[i].stream, ranks[i]);
    resident_->pin(ranks, pins.tokens(), std::move(holding));
    pins_ = pins;
}

void KvCache::pin_new(int32_t layer, uint32_t first, int32_t rows)
{
    if (!resident_->holds_pins(layer)) return;
    for (const TokenRange& range : pins_.ranges()) {
        const uint32_t begin = std::max(first, range.first);
        const uint32_t end = std::min(first + static_cast<uint32_t>(rows), range.last);
        if (begin >= end) continue;
        for (size_t h = 0; h < counts_.size(); ++h)
            counts_[h] = used(layer, static_cast<int32_t>(h)) + static_cast<int32_t>(begin - first);
        resident_->pin_more(layer, counts_, end - begin);
    }
}

kernels::AccumulateArgs KvCache::accumulation(int32_t layer, int32_t rows, int32_t question_rows,
                                              const kernels::SignalRequest& seen) const
{
    return {.kv_heads = shape_.heads.kv_heads,
            .plan = plan_,
            .max_size = kept_stride_,
            .columns = seen.low_counts ? seen.low_counts : seen.sums,
            .column_stride = seen.stride,
            .divisor = seen.low_counts ? 1 : shape_.heads.group(),
            .rows = rows,
            .question_rows = question_rows,
            .counted = std::min(rows, seen.rows),
            .decay = fading(seen.rows, rows),
            .statistics = resident_->statistics(layer)};
}

kernels::EvictArgs KvCache::eviction(int32_t layer, kernels::Phase phase) const
{
    kernels::EvictArgs args;
    args.kv_heads = shape_.heads.kv_heads;
    args.max_size = kept_stride_;
    args.statistics = resident_->statistics(layer);
    args.pinned = resident_->pinned(layer);
    if (phase == kernels::Phase::Decode) {
        args.order = order_.data<uint32_t>() + static_cast<int64_t>(index(layer, 0)) * order_stride();
        args.order_stride = order_stride();
    } else {
        args.kept = resident_->kept();
        args.kept_stride = kept_stride_;
    }
    return args;
}

void KvCache::send(const EvictionPlan& plan)
{
    plan_ = resident_->send(plan);
}

void KvCache::accumulate_on_device(int32_t layer, int32_t question_rows, const kernels::SignalRequest& seen)
{
    if (seen.rows == 0) return;
    const int32_t rows = appended_[static_cast<size_t>(layer)] + question_rows;
    backend_->accumulate(accumulation(layer, rows, question_rows, seen));
}

void KvCache::evict_on_device(int32_t layer, kernels::Phase phase, uint64_t step, const EvictionPlan& plan,
                              const kernels::SelectionRule& rule)
{
    const int64_t most = plan.max_evicted(), stride = std::max<int64_t>(most, 1);
    if (!resident_->has_room(stride)) sync();
    kernels::EvictArgs args = eviction(layer, phase);
    args.plan = plan_;
    args.max_evicted = most;
    args.rule = rule;
    args.dropped = resident_->room(stride);
    args.dropped_stride = stride;
    backend_->evict(args);
    if (phase == kernels::Phase::Prefill) compact_on_device(layer, plan);
    const int32_t rows = appended_[static_cast<size_t>(layer)];
    resident_->log({.layer = layer, .rows = rows, .first = chunk_first_, .step = step}, plan, stride);
    account(layer, phase, plan);
}

void KvCache::compact_on_device(int32_t layer, const EvictionPlan& plan)
{
    for (size_t h = 0; h < plan.lists(); ++h)
        counts_[h] = static_cast<int32_t>(plan.list(h).size - plan.list(h).leaving);
    backend_->compact({.shape = shape_.heads,
                       .pool = pool(),
                       .lists = lists(layer),
                       .staging = staging(layer),
                       .kept = nullptr,
                       .kept_stride = kept_stride_,
                       .kept_count = counts_.data(),
                       .device_kept = resident_->kept()});
}

void KvCache::log_token(int32_t layer, uint64_t step, const EvictionPlan& plan, int64_t stride)
{
    resident_->log_token({.layer = layer, .rows = 1, .first = chunk_first_, .step = step}, plan, stride);
    account(layer, kernels::Phase::Decode, plan);
}

void KvCache::account(int32_t layer, kernels::Phase phase, const EvictionPlan& plan)
{
    for (int32_t h = 0; h < shape_.heads.kv_heads; ++h) {
        const kernels::ListPlan& list = plan.list(static_cast<size_t>(h));
        const size_t i = index(layer, h);
        used_[i] = static_cast<int32_t>(list.size - list.leaving);
        assert(used_[i] <= capacity(layer, h));
        if (phase == kernels::Phase::Prefill) touched_[i] = used_[i];
    }
    appended_[static_cast<size_t>(layer)] = 0;
    if (phase == kernels::Phase::Prefill || !plan.evicts_any()) return;
    scattered_ = true;
    displaced_[static_cast<size_t>(layer)] += static_cast<int32_t>(plan.max_evicted());
}

void KvCache::sync()
{
    if (resident_) resident_->sync(lists_, sync_sink_);
}

void KvCache::sync_earlier()
{
    if (resident_) resident_->sync_earlier(lists_, sync_sink_);
}

void KvCache::switch_log()
{
    if (resident_) resident_->switch_log();
}

TokenList KvCache::tokens(int32_t layer, int32_t head) const
{
    assert(!resident_ || resident_->is_synced());
    TokenList copy = list(layer, head);
    if (resident_) resident_->read_statistics(layer, head, copy.size(), copy);
    return copy;
}

TokenList KvCache::appended_tokens(int32_t layer, int32_t head) const
{
    assert(resident_->is_synced());
    TokenList copy = list(layer, head);
    copy.append(chunk_first_, appended_[static_cast<size_t>(layer)], false);
    resident_->read_statistics(layer, head, copy.size(), copy);
    return copy;
}

} // namespace palimpsest::engine
