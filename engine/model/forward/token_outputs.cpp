#include "engine/model/forward/token_outputs.h"

#include <cstring>

namespace palimpsest::engine {

bool TokenOutputs::fit(int64_t dropped, kernels::Backend& backend)
{
    if (dropped <= stride_) return false;
    const int64_t tail = words_before_dropped() + lists_ * dropped;
    block_ = kernels::Buffer(backend, static_cast<size_t>(vocabulary_ + tail) * sizeof(uint32_t));
    words_.resize(static_cast<size_t>(tail));
    best_.resize(static_cast<size_t>(best_count()));
    ids_.resize(best_.size());
    stride_ = dropped;
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
    return block_.data<uint32_t>() + vocabulary_ + words_before_dropped() + list * stride_;
}

void TokenOutputs::queued(bool drops)
{
    state_ = State::Queued;
    drops_ = drops;
    downloaded_ = false;
}

void TokenOutputs::queued_logits_only()
{
    queued(false);
    downloaded_ = true;
}

void TokenOutputs::read_tail(kernels::Backend& backend)
{
    if (state_ == State::Read) return;
    const size_t words = drops_ ? words_.size() : static_cast<size_t>(words_before_dropped());
    backend.download(words_.data(), logits() + vocabulary_, words * sizeof(uint32_t));
    std::memcpy(best_.data(), words_.data(), best_.size() * sizeof(float));
    std::memcpy(ids_.data(), words_.data() + best_.size(), ids_.size() * sizeof(int32_t));
    state_ = State::Read;
}

void TokenOutputs::read_logits(kernels::Backend& backend, std::vector<float>& to) const
{
    to.resize(static_cast<size_t>(vocabulary_));
    backend.download(to.data(), logits(), to.size() * sizeof(float));
}

std::span<const float> TokenOutputs::read_best(kernels::Backend& backend)
{
    read_tail(backend);
    return best_;
}

int32_t TokenOutputs::first_bad() const
{
    return static_cast<int32_t>(words_[static_cast<size_t>(2 * best_count())]);
}

std::span<const uint32_t> TokenOutputs::read_dropped(kernels::Backend& backend)
{
    read_tail(backend);
    downloaded_ = true;
    const auto dropped = std::span<const uint32_t>(words_).subspan(static_cast<size_t>(words_before_dropped()));
    return drops_ ? dropped : dropped.first(0);
}

} // namespace palimpsest::engine
