#include "engine/cache/eviction_log.h"

#include <algorithm>
#include <cassert>
#include <exception>

namespace palimpsest::engine {

EvictionLog::EvictionLog(int32_t kv_heads, size_t words, kernels::Backend& backend)
    : kv_heads_(kv_heads), backend_(&backend), dropped_(static_cast<size_t>(kv_heads))
{
    for (Half& half : halves_)
        half.memory = kernels::Buffer(backend, words * sizeof(uint32_t));
    // Allocates the download buffers of both halves now, so that no later download fails for lack of memory.
    const auto download_all = [&](const Half& half) {
        return backend.begin_download(half.memory.data(), half.memory.bytes());
    };
    const auto first = download_all(halves_[0]), second = download_all(halves_[1]);
}

bool EvictionLog::has_room(int64_t stride) const
{
    return (filling().used + static_cast<size_t>(kv_heads_ * stride)) * sizeof(uint32_t) <=
           filling().memory.bytes();
}

uint32_t* EvictionLog::room(int64_t stride) const
{
    assert(has_room(stride));
    (void)stride;
    return filling().memory.data<uint32_t>() + filling().used;
}

void EvictionLog::add(const Step& step, const EvictionPlan& plan, size_t words, int64_t stride)
{
    steps_.push_back({step, words, static_cast<size_t>(stride)});
    for (size_t h = 0; h < plan.lists(); ++h)
        evicted_.push_back(plan.list(h).evicted);
}

void EvictionLog::log(const Step& step, const EvictionPlan& plan, int64_t stride)
{
    assert(!awaits_dropped_ranks());
    const auto words = static_cast<size_t>(kv_heads_ * stride);
    if (filling().used == 0) {
        filling().base = words_.size();
        filling().steps_before = steps_.size();
    }
    add(step, plan, words_.size(), stride);
    words_.resize(words_.size() + words);
    filling().used += words;
}

void EvictionLog::log_token(const Step& step, const EvictionPlan& plan, int64_t stride)
{
    fetch(other());
    fetch(filling());
    if (!awaits_) awaited_base_ = words_.size();
    awaits_ = true;
    ++awaited_steps_;
    add(step, plan, words_.size(), stride);
    words_.resize(words_.size() + static_cast<size_t>(kv_heads_ * stride));
}

void EvictionLog::set_dropped_ranks(std::span<const uint32_t> dropped)
{
    assert(awaits_ && dropped.size() == awaited_ranks());
    std::copy(dropped.begin(), dropped.end(), words_.begin() + static_cast<std::ptrdiff_t>(awaited_base_));
    awaits_ = false;
    awaited_steps_ = 0;
}

void EvictionLog::switch_log()
{
    if (filling().used == 0) return;
    fetch(other());
    filling().coming = backend_->begin_download(filling().memory.data(), filling().used * sizeof(uint32_t));
    current_ = 1 - current_;
}

void EvictionLog::fetch(Half& half)
{
    if (half.used == 0) return;
    uint32_t* to = words_.data() + half.base;
    if (half.coming)
        half.coming->read(to);
    else
        backend_->download(to, half.memory.data(), half.used * sizeof(uint32_t));
    half.coming.reset();
    half.used = 0;
}

void EvictionLog::sync(std::vector<TokenList>& lists, const SyncSink& sink)
{
    if (syncing_) return;
    fetch(other());
    fetch(filling());
    sync_first(steps_.size() - awaited_steps_, lists, sink);
}

void EvictionLog::sync_earlier(std::vector<TokenList>& lists, const SyncSink& sink)
{
    if (syncing_) return;
    const Half& newest = filling().used > 0 ? filling() : other();
    if (newest.used == 0) return sync(lists, sink);
    if (filling().used > 0) fetch(other());
    sync_first(newest.steps_before, lists, sink);
}

void EvictionLog::sync_first(size_t count, std::vector<TokenList>& lists, const SyncSink& sink)
{
    syncing_ = true;
    std::exception_ptr thrown;
    const uint32_t* evicted = evicted_.data();
    for (size_t i = 0; i < count; ++i, evicted += kv_heads_) {
        try {
            apply(steps_[i], evicted, lists, thrown ? SyncSink() : sink);
        } catch (...) {
            thrown = std::current_exception();
            drop(steps_[i], lists);
        }
    }
    syncing_ = false;
    forget(count);
    if (thrown) std::rethrow_exception(thrown);
}

void EvictionLog::forget(size_t steps)
{
    const size_t words = steps < steps_.size() ? steps_[steps].words : words_.size();
    const auto erase_first = [](auto& values, size_t count) {
        values.erase(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(count));
    };
    erase_first(steps_, steps);
    erase_first(evicted_, steps * static_cast<size_t>(kv_heads_));
    erase_first(words_, words);
    for (Logged& logged : steps_)
        logged.words -= words;
    awaited_base_ -= std::min(words, awaited_base_);
    for (Half& half : halves_) {
        half.base -= std::min(words, half.base);
        half.steps_before -= std::min(steps, half.steps_before);
    }
}

// Appends the step's tokens, calls the sink, then drops the ranks. If the sink throws, nothing is dropped yet.
void EvictionLog::apply(const Logged& logged, const uint32_t* evicted, std::vector<TokenList>& lists,
                        const SyncSink& sink)
{
    TokenList* first = lists_of(logged, lists);
    heads_.clear();
    for (size_t h = 0; h < dropped_.size(); ++h) {
        first[h].append(logged.step.first, logged.step.rows, false);
        const uint32_t* ranks = words_.data() + logged.words + h * logged.stride;
        dropped_[h].assign(ranks, ranks + evicted[h]);
        heads_.push_back(first + h);
    }
    if (sink) sink({logged.step.layer, logged.step.step, heads_, dropped_});
    drop(logged, lists);
}

void EvictionLog::drop(const Logged& logged, std::vector<TokenList>& lists)
{
    TokenList* first = lists_of(logged, lists);
    for (size_t h = 0; h < dropped_.size(); ++h)
        first[h].drop(dropped_[h]);
}

TokenList* EvictionLog::lists_of(const Logged& logged, std::vector<TokenList>& lists) const
{
    return lists.data() + static_cast<size_t>(logged.step.layer) * static_cast<size_t>(kv_heads_);
}

size_t EvictionLog::allocated_bytes() const
{
    return halves_[0].memory.bytes() + halves_[1].memory.bytes() +
           (evicted_.capacity() + words_.capacity()) * sizeof(uint32_t) + steps_.capacity() * sizeof(Logged);
}

} // namespace palimpsest::engine
