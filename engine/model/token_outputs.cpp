#include "engine/model/token_outputs.h"

namespace palimpsest::engine {

bool TokenOutputs::fit(int64_t leaving, kernels::Backend& backend)
{
    if (leaving <= stride_) return false;
    stride_ = leaving;
    words_.resize(static_cast<size_t>(tail_words()));
    block_ = kernels::Buffer(backend, static_cast<size_t>(vocabulary_ + tail_words()) * sizeof(uint32_t));
    return true;
}

kernels::BestLogitsArgs TokenOutputs::best_args() const
{
    float* best = logits() + vocabulary_;
    auto* ids = reinterpret_cast<int32_t*>(best) + best_count();
    return {.logits = logits(),
            .count = vocabulary_,
            .wanted = static_cast<int32_t>(best_count()),
            .best = best,
            .ids = ids,
            .first_bad = ids + best_count()};
}

uint32_t* TokenOutputs::dropped(int64_t list) const
{
    return block_.data<uint32_t>() + vocabulary_ + 2 * best_count() + 1 + list * stride_;
}

void TokenOutputs::queued()
{
    state_ = State::Queued;
    delivered_ = false;
}

void TokenOutputs::read_tail(kernels::Backend& backend)
{
    if (state_ == State::Read) return;
    backend.download(words_.data(), logits() + vocabulary_, words_.size() * sizeof(uint32_t));
    state_ = State::Read;
}

std::span<const float> TokenOutputs::read_logits(kernels::Backend& backend)
{
    logits_.resize(static_cast<size_t>(vocabulary_));
    backend.download(logits_.data(), logits(), logits_.size() * sizeof(float));
    return logits_;
}

std::span<const float> TokenOutputs::read_best(kernels::Backend& backend)
{
    read_tail(backend);
    return {reinterpret_cast<const float*>(words_.data()), static_cast<size_t>(best_count())};
}

std::span<const int32_t> TokenOutputs::best_ids() const
{
    return {reinterpret_cast<const int32_t*>(words_.data()) + best_count(), static_cast<size_t>(best_count())};
}

int32_t TokenOutputs::first_bad() const
{
    return static_cast<int32_t>(words_[static_cast<size_t>(2 * best_count())]);
}

std::span<const uint32_t> TokenOutputs::read_dropped(kernels::Backend& backend)
{
    read_tail(backend);
    delivered_ = true;
    return std::span<const uint32_t>(words_).subspan(static_cast<size_t>(2 * best_count() + 1));
}

} // namespace palimpsest::engine
