// Asks the policy, then evicts in lists and cache: HostLists::evict_chunk and KvCache::compact after a chunk,
// HostLists::evict_token and KvCache::drop after a generated token.
#include "engine/session/host_eviction.h"

#include <algorithm>

#include "engine/session/entry_merge.h"

namespace palimpsest::engine {

Session::HostEviction::HostEviction(Session& session, HostLists lists)
    : s_(session), lists_(std::move(lists)), angles_(session.model_->config(), session.model_->config().context),
      seen_(static_cast<size_t>(session.model_->config().layers))
{
}

std::unique_ptr<SessionEviction> Session::HostEviction::clone(Session& other) const
{
    return std::make_unique<HostEviction>(other, lists_.clone());
}

void Session::HostEviction::evict(std::span<const AttendedLayer> layers, int32_t chunk, kernels::Phase phase)
{
    on_host_.download(layers, lists_.shape().heads, s_.model_->backend());
    for (const AttendedLayer& attended : layers)
        append(attended);
    for (const AttendedLayer& attended : layers)
        evict_layer(attended, chunk, phase);
    for (const AttendedLayer& attended : layers)
        if (phase == kernels::Phase::Prefill) lists_.move_in_chunk(attended.layer, s_.cache_);
}

void Session::HostEviction::append(const AttendedLayer& attended)
{
    const int32_t layer = attended.layer, rows = attended.rows + attended.question_rows;
    const kernels::SignalRequest shown = on_host_.here(attended.signals);
    lists_.append(layer, attended.first, rows);
    const int32_t heads = lists_.shape().heads.kv_heads;
    for (int32_t h = 0; h < heads && shown.rows > 0; ++h)
        accumulate(layer, h, rows, shown);
    observe(layer, rows, attended.question_rows, shown);
    if (attended.question_rows > 0) lists_.undo_append(layer, attended.question_rows);
    view_lists(layer);
    s_.policy_->observe(layer, states_, seen_[static_cast<size_t>(layer)].observation);
}

void Session::HostEviction::accumulate(int32_t layer, int32_t head, int32_t rows,
                                       const kernels::SignalRequest& shown)
{
    const int64_t group = lists_.shape().heads.group();
    const size_t n = lists_.list(layer, head).size();
    ListSignals seen{.columns = {shown.columns() + head * shown.stride, n},
                     .divisor = shown.column_divisor(static_cast<int32_t>(group))};
    if (shown.head_sums) {
        head_sums_.resize(static_cast<size_t>(group) * n);
        head_squares_.resize(head_sums_.size());
        for (int64_t g = 0; g < group; ++g) {
            const int64_t from = (head * group + g) * shown.stride, to = g * static_cast<int64_t>(n);
            std::copy_n(shown.head_sums + from, n, head_sums_.data() + to);
            std::copy_n(shown.head_squares + from, n, head_squares_.data() + to);
        }
        seen.head_sums = head_sums_;
        seen.head_squares = head_squares_;
    }
    lists_.accumulate(layer, head, shown.rows, rows, seen);
}

void Session::HostEviction::observe(int32_t layer, int32_t rows, int32_t question_rows,
                                    const kernels::SignalRequest& shown)
{
    Seen& seen = seen_[static_cast<size_t>(layer)];
    seen.observation.rows = rows;
    seen.observation.row_statistic = shown.row_statistics ? mean_row_statistic(rows, shown) : 0.0;
    seen.observation.entropies.clear();
    if (!shown.entropies) return;
    const auto heads = static_cast<size_t>(lists_.shape().heads.kv_heads);
    seen.entropies.resize(heads);
    seen.observation.entropies.resize(heads);
    for (size_t h = 0; h < heads; ++h) {
        const size_t n = lists_.list(layer, static_cast<int32_t>(h)).size();
        const float* entropies = shown.entropies + static_cast<int64_t>(h) * shown.stride;
        seen.entropies[h].assign(entropies, entropies + n);
        seen.observation.entropies[h] =
            std::span<const float>(seen.entropies[h]).first(n - static_cast<size_t>(question_rows));
    }
}

double Session::HostEviction::mean_row_statistic(int32_t rows, const kernels::SignalRequest& shown) const
{
    const auto heads = static_cast<size_t>(lists_.shape().heads.query_heads);
    double sum = 0;
    for (const float x : std::span(shown.row_statistics, heads))
        sum += static_cast<double>(x);
    return sum / (std::min(rows, shown.rows) * static_cast<double>(heads));
}

void Session::HostEviction::view_lists(int32_t layer)
{
    states_.clear();
    tokens_.clear();
    for (int32_t h = 0; h < lists_.shape().heads.kv_heads; ++h) {
        const TokenList& list = lists_.list(layer, h);
        states_.push_back({.stream = list.stream, .sum = list.sum, .count = list.count, .moments = list.moments});
        tokens_.push_back(&list);
    }
}

void Session::HostEviction::evict_layer(const AttendedLayer& attended, int32_t chunk, kernels::Phase phase)
{
    const int32_t layer = attended.layer;
    view_lists(layer);
    s_.policy_->select(layer, states_, dropped_);
    const auto merges = s_.policy_->merges();
    report(layer, s_.steps_seen_ + static_cast<uint64_t>(chunk), attended.rows, merges);
    merge(layer, phase, merges);
    for (const auto& gone : dropped_)
        s_.evicted_ += gone.size();
    if (phase == kernels::Phase::Prefill)
        lists_.evict_chunk(layer, dropped_, s_.cache_);
    else
        lists_.evict_token(layer, dropped_, s_.cache_);
}

void Session::HostEviction::merge(int32_t layer, kernels::Phase phase, std::span<const std::vector<Merge>> merges)
{
    for (size_t h = 0; h < merges.size(); ++h)
        for (const Merge& merge : merges[h])
            merge_entries(s_.cache_, lists_, layer, static_cast<int32_t>(h), phase, merge, angles_.of(layer),
                          s_.options_.positions);
}

void Session::HostEviction::report(int32_t layer, uint64_t step, int32_t rows,
                                   std::span<const std::vector<Merge>> merges)
{
    const LayerObservation& seen = seen_[static_cast<size_t>(layer)].observation;
    if (s_.observer_) s_.observer_({layer, step, rows, states_, dropped_, seen, merges});
    report_evictions(layer, step, tokens_, dropped_, s_.eviction_sink_);
}

} // namespace palimpsest::engine
