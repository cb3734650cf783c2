// The losses of predictions.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "engine/text/subwords/vocabulary.h"
#include "kernels/cpu/thread_pool.h"

namespace palimpsest::engine {

// Returns -log softmax(logits)[token] in nats, computed in double. Throws Error (Failed, ModelG15) if the
// result is not finite. REQUIRES: token < logits.size().
double negative_log_likelihood(std::span<const float> logits, TokenId token);

// The losses of many predictions, on several threads of the host: one loss takes an exponential per vocabulary
// entry.
class TokenLosses {
public:
    // `threads`: >= 1, including the calling thread. Uses that one alone if the system starts no others.
    explicit TokenLosses(int threads);

    // Returns negative_log_likelihood of every token, or throws as it does. `logits`: [tokens, vocabulary]. Valid
    // until the next call.
    std::span<const double> compute(std::span<const float> logits, std::span<const TokenId> tokens);

private:
    std::unique_ptr<kernels::ThreadPool> threads_;
    std::vector<double> losses_;
};

} // namespace palimpsest::engine
