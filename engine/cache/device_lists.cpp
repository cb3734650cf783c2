#include "engine/cache/device_lists.h"

#include <algorithm>
#include <cassert>
#include <numeric>
#include <string>

#include "engine/policy/signals/accumulator.h"
#include "kernels/base/error.h"

namespace palimpsest::engine {
namespace {

constexpr int64_t most_plans = 16;

size_t plans_kept(const CacheShape& shape)
{
    const int64_t steps = shape.rows_at_once / std::max(shape.staged_rows, 1); // per layer in a super-chunk
    return static_cast<size_t>(std::clamp<int64_t>(steps, 1, most_plans));
}

// A list's plan is a ListPlan of eight words and, for each evicted entry, at most two places of eviction tiles and
// one wave end.
size_t words_of_plan(const CacheShape& shape)
{
    return static_cast<size_t>(shape.heads.kv_heads) * static_cast<size_t>(8 + 3 * int64_t{shape.staged_rows});
}

// The log has room for a super-chunk: a list at its limit drops one rank per appended token, so rows_at_once words
// per list suffice. In any case it has room for one step of a layer.
size_t words_of_log(const CacheShape& shape)
{
    const auto heads = static_cast<size_t>(shape.heads.kv_heads);
    return std::max(shape.list_budget.size() * static_cast<size_t>(shape.rows_at_once),
                    heads * static_cast<size_t>(longest_with_chunk(shape)));
}

} // namespace

DeviceLists::DeviceLists(const CacheShape& shape, kernels::Backend& backend)
    : TokenLists(shape), backend_(&backend), longest_(longest_with_chunk(shape)),
      log_(shape.heads.kv_heads, words_of_log(shape), backend),
      plans_(plans_kept(shape), words_of_plan(shape), backend), appended_(static_cast<size_t>(shape.layers)),
      counts_(static_cast<size_t>(shape.heads.kv_heads))
{
    assert(shape.resident && shape.moments_each == 0);
    const auto longest = static_cast<size_t>(longest_);
    for (size_t i = 0; i < lists_.size(); ++i)
        lists_[i].reserve(static_cast<size_t>(shape.list_budget[i] + shape.staged_rows), false, 0);
    if (shape.with_signals) {
        sum_ = kernels::Buffer(backend, lists_.size() * longest * sizeof(double));
        count_ = kernels::Buffer(backend, lists_.size() * longest * sizeof(double));
    }
    kept_ = kernels::Buffer(backend, counts_.size() * longest * sizeof(uint32_t));
}

DeviceLists DeviceLists::clone() const
{
    assert(log_.is_synced());
    DeviceLists copy(shape_, *backend_);
    for (size_t i = 0; i < lists_.size(); ++i)
        copy.lists_[i].assign(lists_[i]); // keeps the copy's reserved capacity
    backend_->copy(copy.sum_.data(), sum_.data(), sum_.bytes());
    backend_->copy(copy.count_.data(), count_.data(), count_.bytes());
    return copy;
}

TokenList DeviceLists::tokens(int32_t layer, int32_t head) const
{
    assert(log_.is_synced());
    TokenList copy = list(layer, head);
    read_statistics(layer, head, copy.size(), copy);
    return copy;
}

TokenList DeviceLists::appended_tokens(int32_t layer, int32_t head) const
{
    assert(log_.is_synced());
    TokenList copy = list(layer, head);
    copy.append(chunk_first_, appended_[static_cast<size_t>(layer)], false);
    read_statistics(layer, head, copy.size(), copy);
    return copy;
}

void DeviceLists::write(int32_t layer, int32_t head, const TokenList& tokens)
{
    lists_[shape_.list_at(layer, head)].stream.assign(tokens.stream.begin(), tokens.stream.end());
    write_statistics(layer, head, tokens);
}

void DeviceLists::append(int32_t layer, uint32_t first, int32_t rows)
{
    chunk_first_ = first;
    appended_[static_cast<size_t>(layer)] = rows;
}

void DeviceLists::lengths(int32_t layer, const KvCache& cache, std::vector<uint32_t>& sizes) const
{
    sizes.clear();
    for (int32_t h = 0; h < shape_.heads.kv_heads; ++h)
        sizes.push_back(static_cast<uint32_t>(cache.used(layer, h) + appended_[static_cast<size_t>(layer)]));
}

void DeviceLists::send(const EvictionPlan& plan)
{
    plan_ = plans_.send(plan);
}

kernels::ListStatistics DeviceLists::statistics(int32_t layer) const
{
    if (!shape_.with_signals) return {};
    const auto at = static_cast<int64_t>(shape_.list_at(layer, 0)) * longest_;
    return {.sum = sum_.data<double>() + at, .count = count_.data<double>() + at, .stride = longest_};
}

kernels::AccumulateArgs DeviceLists::accumulation(int32_t layer, int32_t rows, int32_t question_rows,
                                                  const kernels::SignalRequest& seen) const
{
    return {.kv_heads = shape_.heads.kv_heads,
            .plan = plan_,
            .max_size = longest_,
            .columns = seen.columns(),
            .column_stride = seen.stride,
            .divisor = seen.column_divisor(shape_.heads.group()),
            .rows = rows,
            .question_rows = question_rows,
            .counted = std::min(rows, seen.rows),
            .decay = decay(seen.rows, rows),
            .statistics = statistics(layer)};
}

kernels::EvictArgs DeviceLists::eviction(int32_t layer, kernels::Phase phase, KvCache& cache) const
{
    kernels::EvictArgs args;
    args.kv_heads = shape_.heads.kv_heads;
    args.max_size = longest_;
    args.statistics = statistics(layer);
    args.pinned = pinned(layer);
    if (phase == kernels::Phase::Decode) {
        const kernels::KvLists lists = cache.lists(layer);
        args.order = lists.order;
        args.order_stride = lists.order_stride;
    } else {
        args.kept = kept_.data<uint32_t>();
        args.kept_stride = longest_;
    }
    return args;
}

void DeviceLists::accumulate(int32_t layer, int32_t question_rows, const kernels::SignalRequest& seen)
{
    if (seen.rows == 0) return;
    const int32_t rows = appended_[static_cast<size_t>(layer)] + question_rows;
    backend_->accumulate(accumulation(layer, rows, question_rows, seen));
}

void DeviceLists::evict(int32_t layer, kernels::Phase phase, uint64_t step, const EvictionPlan& plan,
                        const kernels::SelectionRule& rule, KvCache& cache)
{
    const int64_t most = plan.max_evicted(), stride = std::max<int64_t>(most, 1);
    if (!log_.has_room(stride)) sync();
    kernels::EvictArgs args = eviction(layer, phase, cache);
    args.plan = plan_;
    args.max_evicted = most;
    args.rule = rule;
    args.dropped = log_.room(stride);
    args.dropped_stride = stride;
    backend_->evict(args);
    count_kept(plan);
    if (phase == kernels::Phase::Prefill)
        cache.compact(layer,
                      {.ranks = kept_.data<uint32_t>(), .stride = longest_, .counts = counts_, .on_device = true});
    const int32_t rows = appended_[static_cast<size_t>(layer)];
    log_.log({.layer = layer, .rows = rows, .first = chunk_first_, .step = step}, plan, stride);
    if (phase == kernels::Phase::Decode) cache.record_dropped(layer, counts_, most);
    appended_[static_cast<size_t>(layer)] = 0;
}

void DeviceLists::log_token(int32_t layer, uint64_t step, const EvictionPlan& plan, int64_t stride, KvCache& cache)
{
    log_.log_token({.layer = layer, .rows = 1, .first = chunk_first_, .step = step}, plan, stride);
    count_kept(plan);
    cache.record_dropped(layer, counts_, plan.max_evicted());
    appended_[static_cast<size_t>(layer)] = 0;
}

void DeviceLists::count_kept(const EvictionPlan& plan)
{
    for (size_t h = 0; h < plan.lists(); ++h)
        counts_[h] = static_cast<int32_t>(plan.list(h).size - plan.list(h).evicted);
}

void DeviceLists::set_dropped_ranks(std::span<const uint32_t> dropped)
{
    const size_t awaited = log_.awaits_dropped_ranks() ? log_.awaited_ranks() : 0;
    if (!log_.awaits_dropped_ranks() || dropped.size() != awaited)
        throw Error(ErrorKind::Internal, ErrorCode::CacheRanksMismatch, Text("cache"),
                    Text("{0} dropped ranks came where {1} were awaited", dropped.size(), awaited),
                    Text("report this with the options used"));
    log_.set_dropped_ranks(dropped);
}

void DeviceLists::sync()
{
    log_.sync(lists_, sync_sink_);
}

void DeviceLists::sync_earlier()
{
    log_.sync_earlier(lists_, sync_sink_);
}

void DeviceLists::switch_log()
{
    log_.switch_log();
}

void DeviceLists::read_statistics(int32_t layer, int32_t head, size_t tokens, TokenList& list) const
{
    if (!shape_.with_signals) return;
    list.sum.resize(tokens);
    list.count.resize(tokens);
    const size_t at = shape_.list_at(layer, head) * static_cast<size_t>(longest_);
    backend_->download(list.sum.data(), sum_.data<double>() + at, tokens * sizeof(double));
    backend_->download(list.count.data(), count_.data<double>() + at, tokens * sizeof(double));
}

void DeviceLists::write_statistics(int32_t layer, int32_t head, const TokenList& list)
{
    if (!shape_.with_signals) return;
    const size_t at = shape_.list_at(layer, head) * static_cast<size_t>(longest_);
    backend_->upload(sum_.data<double>() + at, list.sum.data(), list.sum.size() * sizeof(double));
    backend_->upload(count_.data<double>() + at, list.count.data(), list.count.size() * sizeof(double));
}

void DeviceLists::pin(const Pins& tokens, const std::vector<bool>& holding)
{
    assert(log_.is_synced());
    std::vector<std::vector<uint32_t>> ranks(lists_.size());
    for (size_t i = 0; i < ranks.size(); ++i)
        if (holding[i / static_cast<size_t>(shape_.heads.kv_heads)]) tokens.pinned(lists_[i].stream, ranks[i]);
    PinnedLists pins{.tokens = tokens};
    if (!tokens.empty() && std::find(holding.begin(), holding.end(), true) != holding.end()) {
        pins.stride = static_cast<size_t>(tokens.tokens());
        pins.holding = holding;
        pins.ranks = kernels::Buffer(*backend_, ranks.size() * pins.stride * sizeof(uint32_t));
        pins.held = kernels::Buffer(*backend_, ranks.size() * sizeof(uint32_t));
        for (size_t i = 0; i < ranks.size(); ++i) {
            pins.held_here.push_back(static_cast<uint32_t>(ranks[i].size()));
            if (!ranks[i].empty())
                backend_->upload(pins.ranks.data<uint32_t>() + i * pins.stride, ranks[i].data(),
                                 ranks[i].size() * sizeof(uint32_t));
        }
        backend_->upload(pins.held.data(), pins.held_here.data(), pins.held.bytes());
    }
    pins_ = std::move(pins);
}

void DeviceLists::pin_new(int32_t layer, uint32_t first, int32_t rows, const KvCache& cache)
{
    if (!holds_pins(layer)) return;
    for (const TokenRange& range : pins_.tokens.ranges()) {
        const uint32_t begin = std::max(first, range.first);
        const uint32_t end = std::min(first + static_cast<uint32_t>(rows), range.last);
        if (begin >= end) continue;
        for (size_t h = 0; h < counts_.size(); ++h)
            counts_[h] = cache.used(layer, static_cast<int32_t>(h)) + static_cast<int32_t>(begin - first);
        pin_more(layer, counts_, end - begin);
    }
}

void DeviceLists::pin_more(int32_t layer, std::span<const int32_t> first, uint32_t count)
{
    const size_t begin = shape_.list_at(layer, 0);
    for (size_t h = 0; h < first.size(); ++h)
        if (pins_.held_here[begin + h] + count > pins_.stride)
            throw Error(ErrorKind::Internal, ErrorCode::CachePinsMismatch, Text("cache"),
                        Text("{0} pinned tokens came where at most {1} are pinned",
                             pins_.held_here[begin + h] + count, pins_.stride),
                        Text("report this with the options used"));
    std::vector<uint32_t> ranks(count);
    for (size_t h = 0; h < first.size(); ++h) {
        uint32_t& held = pins_.held_here[begin + h];
        std::iota(ranks.begin(), ranks.end(), static_cast<uint32_t>(first[h]));
        backend_->upload(pins_.ranks.data<uint32_t>() + (begin + h) * pins_.stride + held, ranks.data(),
                         count * sizeof(uint32_t));
        held += count;
    }
    backend_->upload(pins_.held.data<uint32_t>() + begin, pins_.held_here.data() + begin,
                     first.size() * sizeof(uint32_t));
}

kernels::PinnedRanks DeviceLists::pinned(int32_t layer) const
{
    if (!holds_pins(layer)) return {};
    return {.ranks = pins_.ranks.data<uint32_t>() + shape_.list_at(layer, 0) * pins_.stride,
            .held = pins_.held.data<uint32_t>() + shape_.list_at(layer, 0),
            .stride = static_cast<int64_t>(pins_.stride)};
}

std::span<const uint32_t> DeviceLists::pinned_tokens(int32_t layer) const
{
    if (!holds_pins(layer)) return {};
    return {pins_.held_here.data() + shape_.list_at(layer, 0), static_cast<size_t>(shape_.heads.kv_heads)};
}

size_t DeviceLists::allocated_bytes() const
{
    return allocated_bytes_of_lists() + sum_.bytes() + count_.bytes() + plans_.allocated_bytes() +
           pins_.ranks.bytes() + pins_.held.bytes() + log_.allocated_bytes() + kept_.bytes() +
           (appended_.capacity() + counts_.capacity()) * sizeof(int32_t);
}

} // namespace palimpsest::engine
