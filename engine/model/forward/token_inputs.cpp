#include "engine/model/forward/token_inputs.h"

#include <algorithm>
#include <cassert>

namespace palimpsest::engine {

bool TokenInputs::fit(std::span<const EvictionPlan> plans, kernels::Backend& backend)
{
    size_t most = 0;
    for (const EvictionPlan& plan : plans)
        most = std::max(most, plan.words());
    if (block_.data() && std::cmp_less_equal(most, plan_words_)) return false;
    reserve(static_cast<int64_t>(2 * most), backend);
    return true;
}

void TokenInputs::reserve(int64_t plan_words, kernels::Backend& backend)
{
    const auto words = static_cast<size_t>(plans_at() + layers_ * plan_words);
    block_ = kernels::Buffer(backend, words * sizeof(uint32_t));
    words_.resize(words);
    plan_words_ = plan_words;
}

void TokenInputs::send(int32_t id, std::span<const int32_t> used, std::span<const EvictionPlan> plans,
                       kernels::Backend& backend)
{
    assert(std::ssize(plans) == layers_ && std::cmp_equal(used.size(), layers_ * kv_heads_));
    words_[0] = static_cast<uint32_t>(id);
    std::transform(used.begin(), used.end(), words_.begin() + 1,
                   [](int32_t n) { return static_cast<uint32_t>(n); });
    uint32_t* to = words_.data() + plans_at();
    for (const EvictionPlan& plan : plans) {
        plan.write(to);
        to += plan_words_;
    }
    backend.upload(block_.data(), words_.data(), words_.size() * sizeof(uint32_t));
}

} // namespace palimpsest::engine
