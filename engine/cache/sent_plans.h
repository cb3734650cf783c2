// The latest eviction plans in backend memory. Layers and chunks mostly have equal plans: a plan that is still in
// memory is not uploaded again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/policy/eviction_plan.h"
#include "kernels/backend.h"

namespace palimpsest::engine {

class SentPlans {
public:
    // `plans`: how many are kept in backend memory; `words`: room for each, which grows when a plan is longer.
    // backend must outlive this; throws Error (Resources).
    SentPlans(size_t plans, size_t words, kernels::Backend& backend);

    // Uploads the plan unless an equal one is in backend memory. Returns its address there, valid until the next
    // call.
    const uint32_t* send(const EvictionPlan& plan);

    size_t allocated_bytes() const;

private:
    struct SentPlan {
        kernels::Buffer memory; // u32, grows
        std::vector<uint32_t> words;
    };
    const SentPlan* sent_before() const; // a plan in memory equal to words_, or null

    kernels::Backend* backend_;
    std::vector<SentPlan> plans_; // a ring buffer
    size_t next_ = 0;             // index of the one to overwrite next
    std::vector<uint32_t> words_; // scratch
};

} // namespace palimpsest::engine
