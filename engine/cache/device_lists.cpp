#include "engine/cache/device_lists.h"

#include <algorithm>
#include <cassert>
#include <exception>
#include <numeric>
#include <string>

#include "kernels/base/error.h"

namespace palimpsest::engine {
namespace {

constexpr int64_t most_plans = 16;

} // namespace

DeviceLists::DeviceLists(const Shape& shape, kernels::Backend& backend) : shape_(shape), backend_(&backend)
{
    const auto heads = static_cast<size_t>(shape.kv_heads), lists = static_cast<size_t>(shape.layers) * heads;
    const auto longest = static_cast<size_t>(shape.longest);
    if (shape.with_signals) {
        sum_ = kernels::Buffer(backend, lists * longest * sizeof(double));
        count_ = kernels::Buffer(backend, lists * longest * sizeof(double));
    }
    const size_t logged = std::max(lists * static_cast<size_t>(shape.rows_logged), heads * longest);
    for (Log& log : logs_)
        log.memory = kernels::Buffer(backend, logged * sizeof(uint32_t));
    // Allocates the download buffers of both halves now, so that no later download fails for lack of memory.
    const auto come_down = [&](const Log& log) {
        return backend.begin_download(log.memory.data(), log.memory.bytes());
    };
    const auto first = come_down(logs_[0]), second = come_down(logs_[1]);
    // Eviction tiles need at most two places and one wave end for each evicted entry.
    const auto planned = static_cast<size_t>(8 + 3 * shape.rows_planned);
    plans_.resize(static_cast<size_t>(std::clamp<int64_t>(shape.plans_kept, 1, most_plans)));
    for (SentPlan& plan : plans_)
        plan.memory = kernels::Buffer(backend, heads * planned * sizeof(uint32_t));
    kept_ = kernels::Buffer(backend, heads * longest * sizeof(uint32_t));
    dropped_.resize(heads);
}

kernels::ListStatistics DeviceLists::statistics(int32_t layer) const
{
    if (!shape_.with_signals) return {};
    const auto at = static_cast<int64_t>(list_at(layer, 0)) * shape_.longest;
    return {.sum = sum_.data<double>() + at, .count = count_.data<double>() + at, .stride = shape_.longest};
}

const uint32_t* DeviceLists::send(const EvictionPlan& plan)
{
    plan_words_.resize(plan.words());
    plan.write(plan_words_.data());
    if (const SentPlan* sent = sent_before()) return sent->memory.data<uint32_t>();
    SentPlan& sent = plans_[next_plan_];
    next_plan_ = (next_plan_ + 1) % plans_.size();
    const size_t bytes = plan_words_.size() * sizeof(uint32_t);
    sent.words.clear(); // in case that the upload fails
    if (bytes > sent.memory.bytes()) sent.memory = kernels::Buffer(*backend_, 2 * bytes);
    backend_->upload(sent.memory.data(), plan_words_.data(), bytes);
    sent.words = plan_words_;
    return sent.memory.data<uint32_t>();
}

const DeviceLists::SentPlan* DeviceLists::sent_before() const
{
    for (const SentPlan& sent : plans_)
        if (!plan_words_.empty() && sent.words == plan_words_) return &sent;
    return nullptr;
}

bool DeviceLists::has_room(int64_t stride) const
{
    return (filling_log().used + static_cast<size_t>(shape_.kv_heads * stride)) * sizeof(uint32_t) <=
           filling_log().memory.bytes();
}

uint32_t* DeviceLists::room(int64_t stride) const
{
    assert(has_room(stride));
    (void)stride;
    return filling_log().memory.data<uint32_t>() + filling_log().used;
}

void DeviceLists::add(const Step& step, const EvictionPlan& plan, size_t words, int64_t stride)
{
    steps_.push_back({step, words, static_cast<size_t>(stride)});
    for (size_t h = 0; h < plan.lists(); ++h)
        leaving_.push_back(plan.list(h).leaving);
}

void DeviceLists::log(const Step& step, const EvictionPlan& plan, int64_t stride)
{
    assert(!awaits_dropped_ranks());
    const auto words = static_cast<size_t>(shape_.kv_heads * stride);
    if (filling_log().used == 0) {
        filling_log().base = words_.size();
        filling_log().steps_before = steps_.size();
    }
    add(step, plan, words_.size(), stride);
    words_.resize(words_.size() + words);
    filling_log().used += words;
}

void DeviceLists::log_token(const Step& step, const EvictionPlan& plan, int64_t stride)
{
    fetch(other_log());
    fetch(filling_log());
    if (!awaits_) awaited_base_ = words_.size();
    awaits_ = true;
    ++awaited_steps_;
    add(step, plan, words_.size(), stride);
    words_.resize(words_.size() + static_cast<size_t>(shape_.kv_heads * stride));
}

void DeviceLists::set_dropped_ranks(std::span<const uint32_t> dropped)
{
    const size_t awaited = words_.size() - awaited_base_;
    if (!awaits_ || dropped.size() != awaited)
        throw Error(ErrorKind::Internal, "PAL-CACHE-71", "cache",
                    std::to_string(dropped.size()) + " dropped ranks came where " +
                        std::to_string(awaits_ ? awaited : 0) + " were awaited",
                    "report this with the options used");
    std::copy(dropped.begin(), dropped.end(), words_.begin() + static_cast<std::ptrdiff_t>(awaited_base_));
    awaits_ = false;
    awaited_steps_ = 0;
}

void DeviceLists::switch_log()
{
    if (filling_log().used == 0) return;
    fetch(other_log());
    filling_log().coming =
        backend_->begin_download(filling_log().memory.data(), filling_log().used * sizeof(uint32_t));
    current_ = 1 - current_;
}

void DeviceLists::fetch(Log& log)
{
    if (log.used == 0) return;
    uint32_t* to = words_.data() + log.base;
    if (log.coming)
        log.coming->read(to);
    else
        backend_->download(to, log.memory.data(), log.used * sizeof(uint32_t));
    log.coming.reset();
    log.used = 0;
}

void DeviceLists::sync(std::vector<TokenList>& lists, const SyncSink& sink)
{
    if (syncing_) return;
    fetch(other_log());
    fetch(filling_log());
    sync_first(steps_.size() - awaited_steps_, lists, sink);
}

void DeviceLists::sync_earlier(std::vector<TokenList>& lists, const SyncSink& sink)
{
    if (syncing_) return;
    const Log& newest = filling_log().used > 0 ? filling_log() : other_log();
    if (newest.used == 0) return sync(lists, sink);
    if (filling_log().used > 0) fetch(other_log());
    sync_first(newest.steps_before, lists, sink);
}

void DeviceLists::sync_first(size_t count, std::vector<TokenList>& lists, const SyncSink& sink)
{
    syncing_ = true;
    std::exception_ptr thrown;
    const uint32_t* leaving = leaving_.data();
    for (size_t i = 0; i < count; ++i, leaving += shape_.kv_heads) {
        try {
            apply(steps_[i], leaving, lists, thrown ? SyncSink() : sink);
        } catch (...) {
            thrown = std::current_exception();
            drop(steps_[i], lists);
        }
    }
    syncing_ = false;
    forget(count);
    if (thrown) std::rethrow_exception(thrown);
}

void DeviceLists::forget(size_t steps)
{
    const size_t words = steps < steps_.size() ? steps_[steps].words : words_.size();
    const auto erase_first = [](auto& values, size_t count) {
        values.erase(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(count));
    };
    erase_first(steps_, steps);
    erase_first(leaving_, steps * static_cast<size_t>(shape_.kv_heads));
    erase_first(words_, words);
    for (Logged& logged : steps_)
        logged.words -= words;
    awaited_base_ -= std::min(words, awaited_base_);
    for (Log& log : logs_) {
        log.base -= std::min(words, log.base);
        log.steps_before -= std::min(steps, log.steps_before);
    }
}

// Calls the sink, which may throw, before anything is dropped.
void DeviceLists::apply(const Logged& logged, const uint32_t* leaving, std::vector<TokenList>& lists,
                        const SyncSink& sink)
{
    TokenList* first = lists.data() + list_at(logged.step.layer, 0);
    heads_.clear();
    for (size_t h = 0; h < dropped_.size(); ++h) {
        first[h].append(logged.step.first, logged.step.rows, false);
        const uint32_t* ranks = words_.data() + logged.words + h * logged.stride;
        dropped_[h].assign(ranks, ranks + leaving[h]);
        heads_.push_back(first + h);
    }
    if (sink) sink({logged.step.layer, logged.step.step, heads_, dropped_});
    drop(logged, lists);
}

void DeviceLists::drop(const Logged& logged, std::vector<TokenList>& lists)
{
    for (size_t h = 0; h < dropped_.size(); ++h)
        lists[list_at(logged.step.layer, static_cast<int32_t>(h))].drop(dropped_[h]);
}

void DeviceLists::read_statistics(int32_t layer, int32_t head, size_t tokens, TokenList& list) const
{
    if (!shape_.with_signals) return;
    list.sum.resize(tokens);
    list.count.resize(tokens);
    const size_t at = list_at(layer, head) * static_cast<size_t>(shape_.longest);
    backend_->download(list.sum.data(), sum_.data<double>() + at, tokens * sizeof(double));
    backend_->download(list.count.data(), count_.data<double>() + at, tokens * sizeof(double));
}

void DeviceLists::write_statistics(int32_t layer, int32_t head, const TokenList& list)
{
    if (!shape_.with_signals) return;
    const size_t at = list_at(layer, head) * static_cast<size_t>(shape_.longest);
    backend_->upload(sum_.data<double>() + at, list.sum.data(), list.sum.size() * sizeof(double));
    backend_->upload(count_.data<double>() + at, list.count.data(), list.count.size() * sizeof(double));
}

void DeviceLists::pin(const std::vector<std::vector<uint32_t>>& ranks, uint64_t most, std::vector<bool> holding)
{
    PinnedLists pins;
    if (most > 0 && std::find(holding.begin(), holding.end(), true) != holding.end()) {
        pins.stride = static_cast<size_t>(most);
        pins.holding = std::move(holding);
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

void DeviceLists::pin_more(int32_t layer, std::span<const int32_t> first, uint32_t count)
{
    const size_t begin = list_at(layer, 0);
    for (size_t h = 0; h < first.size(); ++h)
        if (pins_.held_here[begin + h] + count > pins_.stride)
            throw Error(ErrorKind::Internal, "PAL-CACHE-72", "cache",
                        std::to_string(pins_.held_here[begin + h] + count) + " pinned tokens came where at most " +
                            std::to_string(pins_.stride) + " are pinned",
                        "report this with the options used");
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
    return {.ranks = pins_.ranks.data<uint32_t>() + list_at(layer, 0) * pins_.stride,
            .held = pins_.held.data<uint32_t>() + list_at(layer, 0),
            .stride = static_cast<int64_t>(pins_.stride)};
}

std::span<const uint32_t> DeviceLists::pinned_tokens(int32_t layer) const
{
    if (!holds_pins(layer)) return {};
    return {pins_.held_here.data() + list_at(layer, 0), static_cast<size_t>(shape_.kv_heads)};
}

void DeviceLists::copy_statistics(const DeviceLists& from)
{
    backend_->copy(sum_.data(), from.sum_.data(), sum_.bytes());
    backend_->copy(count_.data(), from.count_.data(), count_.bytes());
}

size_t DeviceLists::allocated_bytes() const
{
    size_t plans = 0;
    for (const SentPlan& plan : plans_)
        plans += plan.memory.bytes() + plan.words.capacity() * sizeof(uint32_t);
    return sum_.bytes() + count_.bytes() + plans + pins_.ranks.bytes() + pins_.held.bytes() +
           logs_[0].memory.bytes() + logs_[1].memory.bytes() + kept_.bytes() +
           (plan_words_.capacity() + leaving_.capacity() + words_.capacity()) * sizeof(uint32_t) +
           steps_.capacity() * sizeof(Logged);
}

} // namespace palimpsest::engine
