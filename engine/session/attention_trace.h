// What an answer rested on: which kept tokens its own tokens attended to.
//
// Question and answer are read once more on a copy that evicts nothing, as one chunk each, and attention is summed
// over the answer's rows. So it costs a copy of the cache and a prefill of the turn, whatever the policy, and the
// session itself is not touched. Policies that read only part of the cache are traced as if they read all of it.
#pragma once

#include <memory>
#include <span>
#include <stop_token>
#include <vector>

#include "engine/model/model.h"
#include "engine/session/session_state.h"

namespace palimpsest::engine {

struct AttendedToken {
    uint32_t token = 0; // stream index
    double weight = 0;  // share of the answer's attention, mean over layers, heads and rows
};

// Of the tokens that `before`, the state before the question, holds: ascending. Their weights sum to at most 1; the
// rest went to question and answer. Nothing if it was stopped. Throws Error: Usage (PAL-BUDGET-01) where the turn
// does not fit the model's context beside what is kept, Resources for memory.
std::vector<AttendedToken> attention_trace(std::shared_ptr<const Model> model, const SessionState& before,
                                           std::span<const TokenId> question, std::span<const TokenId> answer,
                                           std::stop_token stop = {});

} // namespace palimpsest::engine
