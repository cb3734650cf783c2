// Which share of the full model's attention falls on tokens that a policy still holds.
//
// The attention is that of a session that evicts nothing, on the same text. The policy's own session computes other
// hidden states after its first eviction, and so other queries and keys; these are not what is measured.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/eval/attention_probe.h"

namespace palimpsest::engine {

// Shares of the attention of a probe's rows. The rows' own tokens count as held: no policy evicts them before they
// attend to one another.
struct AttentionShare {
    double held = 0;
    double best = 0; // held by a list of the same length with the tokens that these rows attend to most
};

struct AttentionAtDistance {
    double all = 0;  // share of the attention that falls on tokens at this distance
    double held = 0; // the part of it that falls on tokens that are held
};

struct PlaceRecall {
    AttentionShare share;     // mean over the lists of layers that are not local
    bool has_evicted = false; // one of these lists holds fewer tokens than were read
};

// Means over places are those over the places at which a list has evicted something: before, nothing can be lost.
// Local layers, which no policy evicts from (Policy::watches), enter no mean over lists.
struct AttentionRecall {
    // Tokens are grouped by how far they are before the first row: the rows themselves, then up to 16 tokens, up to
    // 64 and so on, and all that are further away.
    static constexpr std::array<uint64_t, 7> distances = {0, 16, 64, 256, 1024, 4096, 16384};

    std::vector<PlaceRecall> places;   // [probes]
    size_t evicted = 0;                // of them; 0: the means over places are 0 and say nothing
    std::vector<bool> local;           // [layers]
    std::vector<AttentionShare> lists; // [layers * kv_heads] mean over places
    std::array<AttentionAtDistance, distances.size() + 1> by_distance{}; // mean over places and lists
};

// Reads the text before the last probe's rows and looks at the lists at every place of a probe, after the eviction
// there and before a token is added; at the last one after Session::finish, so that a policy with schedule "once"
// has evicted. Costs a reading with the policy. Returns nullopt if stopped. Throws as Session::feed does. REQUIRES:
// the session is new, and not all of its layers are local; the probes are of the same model and text and of places
// for its chunk.
std::optional<AttentionRecall> attention_recall(Session& session, std::span<const TokenId> text,
                                                std::span<const AttentionProbe> probes, const FeedOptions& options);

} // namespace palimpsest::engine
