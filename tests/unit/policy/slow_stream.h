// Feeds the reference policy the way a PolicyStream feeds an engine policy.
#pragma once

#include <set>

#include "tests/support/reference_policy.h"
#include "tests/unit/policy/policy_stream.h"

namespace palimpsest::tests {

std::set<uint32_t> tokens_of(const engine::Pins& pins);

class SlowStream {
public:
    SlowStream(const std::string& spec, StreamShape shape, SyntheticSignals signals);
    SlowStream(const std::string& spec, StreamShape shape, ScoreEntry score = no_scores)
        : SlowStream(spec, std::move(shape), SyntheticSignals{.score = std::move(score)})
    {
    }

    void feed(int tokens);
    void feed_all(int tokens, int chunk);
    void end_prefill();
    // Continues the same lists with another policy.
    void restart(const std::string& spec, const engine::Pins& pins);

    ReferencePolicy& policy() { return policy_; }
    std::vector<uint32_t> kept(int layer, int head);
    std::vector<std::vector<uint32_t>> all_kept();
    // Like PolicyStream::merged().
    std::vector<std::vector<uint32_t>> merged(int layer, int head) const;

private:
    void score(int layer, int head);
    ReferenceObservation observation(int layer, int rows);

    StreamShape shape_;
    SyntheticSignals signals_;
    ReferencePolicy policy_;
    int chunks_ = 0;
};

} // namespace palimpsest::tests
