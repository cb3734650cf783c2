#include "engine/session/device_eviction.h"

namespace palimpsest::engine {

Session::DeviceEviction::DeviceEviction(Session& session, DeviceLists lists)
    : s_(session), lists_(std::move(lists)), plans_(static_cast<size_t>(session.model_->config().layers))
{
    lists_.set_sync_sink([this](const SyncedStep& step) { is_synced(step); });
}

std::unique_ptr<SessionEviction> Session::DeviceEviction::clone(Session& other) const
{
    return std::make_unique<DeviceEviction>(other, lists_.clone());
}

void Session::DeviceEviction::plan_token()
{
    for (int32_t l = 0; l < lists_.shape().layers; ++l) {
        sizes_.clear();
        for (int32_t h = 0; h < lists_.shape().heads.kv_heads; ++h)
            sizes_.push_back(static_cast<uint32_t>(s_.cache_.used(l, h)) + 1);
        lists_.pin_new(l, static_cast<uint32_t>(s_.tokens_seen_), 1, s_.cache_);
        s_.policy_->plan(l, sizes_, lists_.pinned_tokens(l), plans_[static_cast<size_t>(l)]);
    }
}

void Session::DeviceEviction::evict(std::span<const AttendedLayer> layers, int32_t chunk, kernels::Phase phase)
{
    for (const AttendedLayer& attended : layers)
        evict_layer(attended, chunk, phase);
}

void Session::DeviceEviction::evict_layer(const AttendedLayer& attended, int32_t chunk, kernels::Phase phase)
{
    const int32_t layer = attended.layer;
    lists_.append(layer, attended.first, attended.rows);
    lists_.lengths(layer, s_.cache_, sizes_);
    lists_.pin_new(layer, attended.first, attended.rows, s_.cache_);
    s_.policy_->plan(layer, sizes_, lists_.pinned_tokens(layer), chunk_plan_);
    lists_.send(chunk_plan_);
    lists_.accumulate(layer, attended.question_rows, attended.signals);
    const struct Forget { // an observation that fails must not go to a later step
        std::optional<AttendedLayer>& observed;
        ~Forget() { observed.reset(); }
    } forget{observed_};
    if (s_.observer_) {
        lists_.sync(); // before observed_ is set, so that earlier steps do not go to the observer
        view_lists(layer);
        observed_ = attended;
    }
    lists_.evict(layer, phase, s_.steps_seen_ + static_cast<uint64_t>(chunk), chunk_plan_,
                 s_.policy_->selection_rule(), s_.cache_);
    if (observed_) lists_.sync();
    count(chunk_plan_);
}

void Session::DeviceEviction::queue(int32_t layer, const kernels::SignalRequest& seen, const uint32_t* plan,
                                    uint32_t* dropped, int64_t stride)
{
    kernels::Backend& backend = s_.model_->backend();
    if (seen.rows > 0) {
        kernels::AccumulateArgs seen_args = lists_.accumulation(layer, 1, 0, seen);
        seen_args.plan = plan;
        backend.accumulate(seen_args);
    }
    kernels::EvictArgs args = lists_.eviction(layer, kernels::Phase::Decode, s_.cache_);
    args.plan = plan;
    args.max_evicted = stride;
    args.rule = s_.policy_->selection_rule();
    args.dropped = dropped;
    args.dropped_stride = stride;
    backend.evict(args);
}

void Session::DeviceEviction::queued(int32_t layer, uint32_t index, int64_t stride)
{
    lists_.append(layer, index, 1);
    const EvictionPlan& plan = plans_[static_cast<size_t>(layer)];
    lists_.log_token(layer, s_.steps_seen_, plan, stride, s_.cache_);
    count(plan);
}

void Session::DeviceEviction::count(const EvictionPlan& plan)
{
    for (size_t h = 0; h < plan.lists(); ++h)
        s_.evicted_ += plan.list(h).evicted;
}

void Session::DeviceEviction::is_synced(const SyncedStep& step)
{
    if (observed_)
        s_.observer_({step.layer,
                      step.step,
                      observed_->rows,
                      shown_,
                      step.dropped,
                      {.rows = observed_->rows + observed_->question_rows},
                      {}});
    report_evictions(step.layer, step.step, step.lists, step.dropped, s_.eviction_sink_);
}

void Session::DeviceEviction::view_lists(int32_t layer)
{
    const int32_t heads = lists_.shape().heads.kv_heads;
    copies_.resize(static_cast<size_t>(heads));
    shown_.clear();
    for (int32_t h = 0; h < heads; ++h) {
        TokenList& list = copies_[static_cast<size_t>(h)];
        list = lists_.appended_tokens(layer, h);
        shown_.push_back({.stream = list.stream, .sum = list.sum, .count = list.count});
    }
}

} // namespace palimpsest::engine
