// Picks the next token from a model's logits.
//
// In this order, each step if it is switched on: repeat penalty (the logit of every token among the last
// repeat_last is divided by it if positive, multiplied if negative: CTRL, arXiv:1909.05858, section 4.1), top-k of
// the logits, temperature, top-p (nucleus, arXiv:1904.09751: the smallest set of most likely tokens whose
// probability reaches top_p, of what top-k left), min-p (arXiv:2407.01082: at least min_p times the most likely
// token's probability). Ties keep the lower id. Temperature 0 is greedy: the largest logit after the repeat
// penalty.
//
// Probabilities are f64 and the random numbers our own, so the same state and logits give the same token. Often
// the largest logits suffice for that (best_needed), so that others need not leave the device that computed them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/text/vocabulary.h"

namespace palimpsest::engine {

struct SamplerOptions {
    double temperature = 0.0;    // 0 to 100; 0: greedy
    int32_t top_k = 0;           // 0: off
    double top_p = 1.0;          // above 0, to 1; 1: off
    double min_p = 0.0;          // 0 to 1; 0: off
    double repeat_penalty = 1.0; // above 0, to 100; 1: off
    int32_t repeat_last = 64;    // tokens that the repeat penalty looks back on, 0 to 1,048,576
    uint64_t seed = 0;
    bool operator==(const SamplerOptions&) const = default;
};

// A value: a copy goes on as the original would. Not thread-safe.
class Sampler {
public:
    // Throws Error (Usage) that names the option out of range.
    explicit Sampler(const SamplerOptions& options);

    // Advances the random state, but remembers nothing: see accept. REQUIRES: logits is not empty. Throws Error
    // (Failed, PAL-MODEL-15) if a logit is not finite (reliability.md, G15).
    TokenId sample(std::span<const float> logits);
    // How many of the largest logits (of equal ones those with the lower ids) sample_best needs for the next token:
    // at most BestLogitsArgs::most (kernels/backend.h), or 0, and then all are needed. It depends on the options
    // and on what accept remembers. More than the vocabulary has: all of it will do.
    int32_t best_needed() const;
    // What sample would do with all logits, to the last bit: the same token, error and random state. REQUIRES:
    // best_needed() > 0, and that many of the best or more, in any order, or all there are; best[i] is that of
    // ids[i], and the logits left out are finite (else see refuse_logit).
    TokenId sample_best(std::span<const float> best, std::span<const TokenId> ids);
    // The token became part of the text: the repeat penalty sees it from now on.
    void accept(TokenId token);

    const SamplerOptions& options() const { return options_; }
    // Goes on with other options: the random state is that of the seed again, the remembered tokens stay as far as
    // repeat_last reaches. Throws as the constructor does; then nothing changed.
    void restart(const SamplerOptions& options);

    // The random state and the remembered tokens, little-endian. Options are not part of it.
    std::vector<std::byte> state() const;
    // Throws Error (Failed, PAL-SNAP-03) for bytes that state() did not write under these options; then nothing
    // changed.
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
    std::vector<Candidate> candidates_; // by id until top-k has sorted them
};

// Throws what sample throws where this is the first token whose logit is not finite.
[[noreturn]] void refuse_logit(TokenId id);

} // namespace palimpsest::engine
