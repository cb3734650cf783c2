// Attention trace of an answer: which kept tokens its tokens attended to.
//
// Question and answer are prefilled once more, as one chunk each, on a copy of the session that evicts nothing, and
// attention is summed over the answer's rows. This costs a copy of the cache and a prefill of the turn for any
// policy, and does not touch the session. Retrieval policies are traced as if they read the whole cache.
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

// `before`: the session's state before the question. Returns the tokens that its lists hold, and those of the
// question, which may contain passages that are read again, ascending. Their weights sum to at most 1; the
// remaining attention went to the answer. Empty if stopped. Throws Error: Usage (BudgetDoesNotFit) if the turn does
// not fit the model's context beside the kept tokens, Resources if memory is short.
std::vector<AttendedToken> attention_trace(const std::shared_ptr<const Model>& model, const SessionState& before,
                                           std::span<const TokenId> question, std::span<const TokenId> answer,
                                           std::stop_token stop = {});

} // namespace palimpsest::engine
