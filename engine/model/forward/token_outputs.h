// The results of one generated token, in one block of backend memory: logits, the best of them, and the ranks that
// a device-resident cache dropped. The host downloads each part at most once, and only if needed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/backend.h"

namespace palimpsest::engine {

class TokenOutputs {
public:
    TokenOutputs(int64_t vocabulary, int64_t lists) : vocabulary_(vocabulary), lists_(lists) {}

    // Makes room for `dropped` ranks per list. Returns true if the block has moved.
    bool fit(int64_t dropped, kernels::Backend& backend);

    // Backend memory.
    float* logits() const { return block_.data<float>(); }
    kernels::BestLogitsArgs best_args() const;
    uint32_t* dropped(int64_t list) const; // [lists - list, stride()], from list number `list` on
    int64_t stride() const { return stride_; }

    void queued(bool drops);   // a token was queued; `drops`: its lists drop ranks
    void queued_logits_only(); // without dropped ranks: the host chooses what to evict
    void forget() { state_ = State::None; }
    bool is_queued() const { return state_ != State::None; }
    bool awaits_dropped_ranks() const { return !downloaded_; } // the last token's were not read yet

    // The read functions wait for the backend and REQUIRE is_queued. Spans are valid until the next token.
    void read_logits(kernels::Backend& backend, std::vector<float>& to) const;
    std::span<const float> read_best(kernels::Backend& backend);
    std::span<const int32_t> best_ids() const { return ids_; } // REQUIRES: read_best
    int32_t first_bad() const;                                 // REQUIRES: read_best
    // [lists, stride], or empty if nothing was dropped. Afterwards awaits_dropped_ranks() is false.
    std::span<const uint32_t> read_dropped(kernels::Backend& backend);

    size_t allocated_bytes() const
    {
        return block_.bytes() + (words_.capacity() + best_.capacity() + ids_.capacity()) * sizeof(uint32_t);
    }

private:
    enum class State : uint8_t { None, Queued, Read };

    int64_t best_count() const { return std::min<int64_t>(kernels::BestLogitsArgs::most, vocabulary_); }
    int64_t words_before_dropped() const { return 2 * best_count() + 1; } // in the tail
    void read_tail(kernels::Backend& backend);

    int64_t vocabulary_, lists_;
    int64_t stride_ = 0;
    // [vocabulary] logits; then the tail: best logits, their ids, first_bad, dropped ranks.
    kernels::Buffer block_;
    std::vector<uint32_t> words_; // the tail
    std::vector<float> best_;
    std::vector<int32_t> ids_;
    State state_ = State::None; // of the tail
    bool drops_ = false;
    bool downloaded_ = true;
};

} // namespace palimpsest::engine
