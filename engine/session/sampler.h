// Picks the next token from a model's logits.
//
// Applies these steps in order, each only if enabled: repeat penalty (the logit of every token among the last
// repeat_last is divided by it if positive, multiplied if negative: CTRL, arXiv:1909.05858, section 4.1), top-k of
// the logits, temperature, top-p (nucleus, arXiv:1904.09751: the smallest set of most likely tokens whose
// probability reaches top_p, relative to the tokens kept by top-k), min-p (arXiv:2407.01082: at least min_p times
// the most likely token's probability). Ties keep the lower id. Temperature 0 is greedy: the largest logit after
// the repeat penalty.
//
// Probabilities are f64 and the random generator is our own, so the same state and logits give the same token.
// Often the largest logits suffice (best_needed), so that the others need not be downloaded from the device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/text/subwords/vocabulary.h"

namespace palimpsest::engine {

struct SamplerOptions {
    double temperature = 0.0;    // 0 to 100; 0: greedy
    int32_t top_k = 0;           // 0: off
    double top_p = 1.0;          // above 0, to 1; 1: off
    double min_p = 0.0;          // 0 to 1; 0: off
    double repeat_penalty = 1.0; // above 0, to 100; 1: off
    int32_t repeat_last = 64;    // newest tokens that the repeat penalty applies to, 0 to 1,048,576
    uint64_t seed = 0;
    bool operator==(const SamplerOptions&) const = default;
};

// A value type: a copy continues as the original would. Not thread-safe.
class Sampler {
public:
    // Throws Error (Usage), which names the setting that is out of range.
    explicit Sampler(const SamplerOptions& options);

    // Advances the random state but does not record the token: see accept. REQUIRES: logits is not empty. Throws
    // Error (Failed, ModelG15) if a logit is not finite.
    TokenId sample(std::span<const float> logits);
    // How many of the largest logits (ties: the lower id) sample_best needs for the next token: at most
    // BestLogitsArgs::most (kernels/backend.h), or 0 if it needs all of them. Depends on the options and on the
    // accepted tokens. May exceed the vocabulary; then all logits suffice.
    int32_t best_needed() const;
    // Does exactly what sample would do with all logits: the same token, error and random state. REQUIRES:
    // best_needed() > 0; at least that many of the best logits, in any order, or all there are; best[i] is the
    // logit of ids[i]; the logits left out are finite (else see refuse_logit).
    TokenId sample_best(std::span<const float> best, std::span<const TokenId> ids);
    // Records a token as part of the text: the repeat penalty applies to it from now on.
    void accept(TokenId token);

    const SamplerOptions& options() const { return options_; }
    // Continues with other options: the random state is reset to the seed, and the last repeat_last accepted tokens
    // are kept. Throws as the constructor does; then nothing has changed.
    void restart(const SamplerOptions& options);

    // The random state and the accepted tokens, little-endian, without the options.
    std::vector<std::byte> state() const;
    // Throws Error (Failed, DamagedSnapshot) for bytes that state() did not write under these options; then nothing
    // has changed.
    void restore(std::span<const std::byte> state);

private:
    struct Candidate {
        TokenId id;
        double value; // logit, then probability
    };

    void consider(TokenId id, float logit);
    TokenId choose();
    std::vector<TokenId> remembered() const;
    void penalize_repeats();
    void keep_top_k();
    void keep_likely();
    double next_uniform();

    SamplerOptions options_;
    uint64_t random_;
    std::vector<TokenId> recent_;       // at most repeat_last, oldest first
    std::vector<Candidate> candidates_; // ordered by id until keep_top_k sorts them
};

// Always throws: the error of sample() for a logit of `id` that is not finite.
[[noreturn]] void refuse_logit(TokenId id);

} // namespace palimpsest::engine
