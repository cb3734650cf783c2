// What one prediction costs.
#pragma once

#include <span>

#include "engine/text/vocabulary.h"

namespace palimpsest::engine {

// -log softmax(logits)[token] in nats, in double. Throws Error (Failed, PAL-MODEL-15) if the model has produced
// something that is not a finite number. REQUIRES: token < logits.size().
double negative_log_likelihood(std::span<const float> logits, TokenId token);

} // namespace palimpsest::engine
