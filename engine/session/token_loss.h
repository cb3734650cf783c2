// The loss of one prediction.
#pragma once

#include <span>

#include "engine/text/subwords/vocabulary.h"

namespace palimpsest::engine {

// Returns -log softmax(logits)[token] in nats, computed in double. Throws Error (Failed, ModelG15) if the
// result is not finite. REQUIRES: token < logits.size().
double negative_log_likelihood(std::span<const float> logits, TokenId token);

} // namespace palimpsest::engine
