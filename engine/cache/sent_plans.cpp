#include "engine/cache/sent_plans.h"

namespace palimpsest::engine {

SentPlans::SentPlans(size_t plans, size_t words, kernels::Backend& backend) : backend_(&backend), plans_(plans)
{
    for (SentPlan& plan : plans_)
        plan.memory = kernels::Buffer(backend, words * sizeof(uint32_t));
}

const uint32_t* SentPlans::send(const EvictionPlan& plan)
{
    words_.resize(plan.words());
    plan.write(words_.data());
    if (const SentPlan* sent = sent_before()) return sent->memory.data<uint32_t>();
    SentPlan& sent = plans_[next_];
    next_ = (next_ + 1) % plans_.size();
    const size_t bytes = words_.size() * sizeof(uint32_t);
    sent.words.clear(); // in case that the upload fails
    if (bytes > sent.memory.bytes()) sent.memory = kernels::Buffer(*backend_, 2 * bytes);
    backend_->upload(sent.memory.data(), words_.data(), bytes);
    sent.words = words_;
    return sent.memory.data<uint32_t>();
}

const SentPlans::SentPlan* SentPlans::sent_before() const
{
    for (const SentPlan& sent : plans_)
        if (!words_.empty() && sent.words == words_) return &sent;
    return nullptr;
}

size_t SentPlans::allocated_bytes() const
{
    size_t bytes = words_.capacity() * sizeof(uint32_t);
    for (const SentPlan& plan : plans_)
        bytes += plan.memory.bytes() + plan.words.capacity() * sizeof(uint32_t);
    return bytes;
}

} // namespace palimpsest::engine
