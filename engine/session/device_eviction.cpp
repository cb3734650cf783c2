#include "engine/session/device_eviction.h"

namespace palimpsest::engine {

Session::DeviceEviction::DeviceEviction(Session& session)
    : s_(session), seen_(static_cast<size_t>(session.model_->config().layers)), plans_(seen_.size())
{
    s_.cache_.set_sync_sink([this](const SyncedStep& step) { is_synced(step); });
}

void Session::DeviceEviction::plan_token()
{
    for (int32_t l = 0; l < s_.cache_.shape().layers; ++l) {
        sizes_.clear();
        for (int32_t h = 0; h < s_.cache_.shape().heads.kv_heads; ++h)
            sizes_.push_back(static_cast<uint32_t>(s_.cache_.used(l, h)) + 1);
        s_.cache_.pin_new(l, static_cast<uint32_t>(s_.tokens_seen_), 1);
        s_.policy_->plan(l, sizes_, s_.cache_.pinned_tokens(l), plans_[static_cast<size_t>(l)]);
    }
}

void Session::DeviceEviction::attended(int32_t layer, int32_t, int32_t rows, int32_t question_rows,
                                       const kernels::SignalRequest& shown)
{
    if (question_rows > 0) s_.cache_.undo_append(layer, question_rows);
    seen_[static_cast<size_t>(layer)] = {shown, rows, question_rows};
}

void Session::DeviceEviction::evict(int32_t layer, int32_t chunk, int32_t rows, kernels::Phase phase)
{
    const Seen& seen = seen_[static_cast<size_t>(layer)];
    s_.cache_.lengths(layer, sizes_);
    s_.cache_.pin_appended(layer);
    s_.policy_->plan(layer, sizes_, s_.cache_.pinned_tokens(layer), chunk_plan_);
    s_.cache_.send(chunk_plan_);
    s_.cache_.accumulate_on_device(layer, seen.question_rows, seen.shown);
    if (s_.observer_) {
        s_.cache_.sync(); // earlier steps do not go to the observer
        view_lists(layer);
        observed_rows_ = rows;
        observing_ = true;
    }
    s_.cache_.evict_on_device(layer, phase, s_.steps_seen_ + static_cast<uint64_t>(chunk), chunk_plan_,
                              s_.policy_->selection_rule());
    if (observing_) s_.cache_.sync();
    observing_ = false;
    count(chunk_plan_);
}

void Session::DeviceEviction::queue(int32_t layer, const kernels::SignalRequest& seen, const uint32_t* plan,
                                    uint32_t* dropped, int64_t stride)
{
    kernels::Backend& backend = s_.model_->backend();
    if (seen.rows > 0) {
        kernels::AccumulateArgs seen_args = s_.cache_.accumulation(layer, 1, 0, seen);
        seen_args.plan = plan;
        backend.accumulate(seen_args);
    }
    kernels::EvictArgs args = s_.cache_.eviction(layer, kernels::Phase::Decode);
    args.plan = plan;
    args.max_evicted = stride;
    args.rule = s_.policy_->selection_rule();
    args.dropped = dropped;
    args.dropped_stride = stride;
    backend.evict(args);
}

void Session::DeviceEviction::queued(int32_t layer, int64_t stride)
{
    const EvictionPlan& plan = plans_[static_cast<size_t>(layer)];
    s_.cache_.log_token(layer, s_.steps_seen_, plan, stride);
    count(plan);
}

void Session::DeviceEviction::end_prefill()
{
    const int32_t layers = s_.cache_.shape().layers;
    for (int32_t l = 0; l < layers; ++l) {
        attended(l, 0, 0, 0, {});
        evict(l, 0, 0, kernels::Phase::Prefill);
    }
    s_.cache_.sync();
}

void Session::DeviceEviction::count(const EvictionPlan& plan)
{
    for (size_t h = 0; h < plan.lists(); ++h)
        s_.evicted_ += plan.list(h).leaving;
}

void Session::DeviceEviction::is_synced(const SyncedStep& step)
{
    if (observing_)
        s_.observer_({step.layer,
                      step.step,
                      observed_rows_,
                      shown_,
                      step.dropped,
                      {.rows = observed_rows_ + seen_[static_cast<size_t>(step.layer)].question_rows},
                      {}});
    report_faded(step.layer, step.step, step.lists, step.dropped, s_.fade_sink_);
}

void Session::DeviceEviction::view_lists(int32_t layer)
{
    const int32_t heads = s_.cache_.shape().heads.kv_heads;
    observed_.resize(static_cast<size_t>(heads));
    shown_.clear();
    for (int32_t h = 0; h < heads; ++h) {
        TokenList& list = observed_[static_cast<size_t>(h)];
        list = s_.cache_.appended_tokens(layer, h);
        shown_.push_back({.stream = list.stream, .sum = list.sum, .count = list.count});
    }
}

} // namespace palimpsest::engine
