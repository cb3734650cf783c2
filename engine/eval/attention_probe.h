// Measures the attention of tokens at some places of a text when nothing is evicted. attention_recall.h compares
// the lists of a policy with it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/session/session.h"

namespace palimpsest::engine {

struct AttentionProbe {
    uint64_t tokens = 0; // of the text before the rows
    int32_t rows = 0;    // the tokens after them, whose attention is measured
    // [layers * kv_heads][tokens + rows] attention that each token receives, sum over the rows, mean over the query
    // heads of the group. A list's numbers sum to `rows`.
    std::vector<std::vector<float>> received;
};

// Up to `count` places in a text, ascending, as numbers of tokens before them: the last is followed by `rows`
// tokens, the end of the text, and the others are ends of chunks, spread evenly over it. Fewer if the text has
// fewer chunks. REQUIRES: rows <= chunk, rows < text, count >= 1.
std::vector<uint64_t> probe_places(uint64_t text, int32_t chunk, int32_t rows, int32_t count);

// The host memory that probe_attention takes at most, in bytes: the probes, and a full_session with these options
// where its cache is in host memory. Computes nothing.
uint64_t bytes_to_probe(const Model& model, const SessionOptions& options, size_t tokens,
                        std::span<const uint64_t> places, int32_t rows);

// Reads the text, and the rows after each place as a chunk of their own. Costs a reading with full attention, and 4
// bytes per list and token before a place for every place. Returns nullopt if stopped. Throws as Session::feed
// does. REQUIRES: `full` is a new full_session for the text and a window of `rows`; places are those of
// probe_places.
std::optional<std::vector<AttentionProbe>> probe_attention(Session& full, std::span<const TokenId> text,
                                                           std::span<const uint64_t> places,
                                                           const FeedOptions& options);

} // namespace palimpsest::engine
