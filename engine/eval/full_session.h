// Sessions with full attention, whose attention is measured.
#pragma once

#include <memory>

#include "engine/session/session.h"

namespace palimpsest::engine {

// The options of a full_session, as described there.
SessionOptions full_options(const ModelConfig& model, SessionOptions options, size_t tokens);

// A session that keeps all of `tokens` tokens, with contiguous positions, and records the attention named by
// `needs`, which its observer sees. Its rotary angles are those for `tokens` positions. Takes chunk and KV type
// from `options`. Throws as the constructor of Session does: Usage if the model's context is shorter.
std::unique_ptr<Session> full_session(const std::shared_ptr<const Model>& model, const SessionOptions& options,
                                      size_t tokens, const SignalNeeds& needs);

} // namespace palimpsest::engine
