// Decode with a device-resident cache: the operations of a token are recorded once and then replayed.
#include <algorithm>
#include <bit>

#include "engine/model/forward/transformer.h"

namespace palimpsest::engine {

void Transformer::decode_on_device(TokenId token, uint64_t index, KvCache& cache, LayerEviction& eviction)
{
    kernels::Backend& backend = model_->backend();
    const auto plans = eviction.plans();
    if (fit_token(plans, cache)) discard_recording();
    inputs_.send(token, cache.used(), plans, backend);
    const auto queue = [&] { queue_token(cache, eviction); };
    if (!recording_ && warm_) recording_ = backend.record(queue);
    if (!recording_ || !backend.replay(*recording_)) {
        recording_.reset();
        queue();
        warm_ = true;
    }
    const bool drops = std::any_of(plans.begin(), plans.end(), [](const auto& p) { return p.evicts_any(); });
    token_.queued(drops);
    for (int32_t l = 0; l < model_->config().layers; ++l) {
        const int64_t before = cache.used(l, 0);
        eviction.queued(l, static_cast<uint32_t>(index), drops ? token_.stride() : 0);
        bound_new_pages(l, before, cache);
    }
}

// Makes room for this token's lists and plans, in large steps so that recordings stay valid for long. Returns true
// if the present recording is no longer valid.
bool Transformer::fit_token(std::span<const EvictionPlan> plans, const KvCache& cache)
{
    bool moved = inputs_.fit(plans, model_->backend());
    int64_t dropped = 1;
    for (const EvictionPlan& plan : plans)
        dropped = std::max(dropped, plan.max_evicted());
    moved |= token_.fit(dropped, model_->backend());
    constexpr int32_t fewest_ranks = 1024;
    const int32_t longest = *std::max_element(cache.used().begin(), cache.used().end());
    if (token_ranks_.empty() || longest + 1 > token_ranks_.front()) {
        const int64_t ranks = std::bit_ceil(static_cast<uint32_t>(std::max(longest + 1, fewest_ranks)));
        token_ranks_.assign(static_cast<size_t>(shape_.kv_heads),
                            static_cast<int32_t>(std::min<int64_t>(ranks, made_for_.max_ranks)));
        moved = true;
    }
    return moved;
}

void Transformer::queue_token(KvCache& cache, LayerEviction& eviction)
{
    kernels::Backend& backend = model_->backend();
    embed({}, inputs_.id());
    for (int32_t l = 0; l < model_->config().layers; ++l) {
        project_qkv(l);
        const kernels::SignalRequest seen =
            watches(l) ? signals_.request(l, token_ranks_.front(), 1) : kernels::SignalRequest{};
        kernels::KvLists lists = cache.lists(l);
        lists.used = token_ranks_.data();
        lists.device_used = inputs_.used(l);
        backend.decode_attend({.shape = shape_,
                               .qkv = qkv_.data<float>(),
                               .pool = cache.pool(),
                               .lists = lists,
                               .rotation = rotation(l, 0),
                               .out = heads_.data<float>(),
                               .signals = seen,
                               .retrieval = retrieval_of(l),
                               .window = window(l)});
        eviction.queue(l, seen, inputs_.plan(l), token_.dropped(int64_t{l} * shape_.kv_heads), token_.stride());
        finish_layer(l);
    }
    queue_logits();
}

void Transformer::queue_logits()
{
    kernels::Backend& backend = model_->backend();
    backend.linear(logits_args(x_.data<float>(), 1, kernels::Phase::Decode, token_.logits()));
    backend.best_logits(token_.best_args());
    if (!made_for_.resident) token_.queued_logits_only();
}

void Transformer::set_dropped_ranks(LayerEviction& eviction)
{
    if (token_.awaits_dropped_ranks()) eviction.set_dropped_ranks(token_.read_dropped(model_->backend()));
}

Transformer::BestLogits Transformer::best_logits()
{
    const auto best = token_.read_best(model_->backend());
    return {best, token_.best_ids(), token_.first_bad()};
}

} // namespace palimpsest::engine
