// One stream of tokens through a model under a fixed cache budget: feed a document, generate, fork, save.
//
// Each chunk of b tokens attends to the kept tokens and, causally, to itself; then the policy evicts every list
// back to its budget. Chunk boundaries are multiples of b, counted from the start of the stream, from the last
// generated token, or from the last time an incomplete chunk was computed (generate, fork, finish).
//
// Not thread-safe; sessions that share a model's backend must take turns. Cancelling takes effect between
// super-chunks (within a chunk if chunks take long) and between tokens; the session is then as after the last
// complete chunk or token.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <vector>

#include "engine/cache/eviction_events.h"
#include "engine/cache/retention_map.h"
#include "engine/model/forward/transformer.h"
#include "engine/model/model.h"
#include "engine/session/session_options.h"
#include "engine/session/session_setup.h"
#include "engine/session/session_state.h"
#include "engine/session/telemetry.h"

namespace palimpsest::engine {

class SessionEviction;

// Input and result of a policy for one layer of one eviction step. `lists` include the step's own tokens.
struct Selection {
    int32_t layer = 0;
    uint64_t step = 0; // chunks and decode steps before this one
    int32_t rows = 0;  // tokens of the step; 0 at the end of prefill
    std::span<const ListState> lists;
    const std::vector<std::vector<uint32_t>>& dropped; // ranks, per head
    const LayerObservation& seen;
    std::span<const std::vector<Merge>> merges; // per head, or empty; `lists` are as before the merges
};

struct FeedOptions {
    std::stop_token stop;
    std::function<void(const Telemetry&)> progress; // after every super-chunk
    // Called with the loss of every token but a stream's first: -log p(token | tokens kept by the policy).
    std::function<void(uint64_t index, TokenId token, double nll)> loss;
};

enum class GenerateEnd { EndOfText, Length, Stopped, Cancelled, Full };

struct GenerateOptions {
    int32_t max_tokens = 256;
    std::stop_token stop;
    std::function<bool(TokenId)> token;  // called per token; false stops (Stopped), the token is kept
    std::function<bool(TokenId)> is_end; // an end-of-text token is neither reported nor fed
};

struct GenerateResult {
    std::vector<TokenId> tokens;
    GenerateEnd end = GenerateEnd::Length;
};

class Session {
public:
    // Throws Error: Usage for options that do not fit the model or one another, Resources if memory is short.
    Session(const std::shared_ptr<const Model>& model, const SessionOptions& options);
    // Uses the caller's policy instead of one made by name; options.policy and options.budget must describe it.
    Session(const std::shared_ptr<const Model>& model, const SessionOptions& options,
            std::unique_ptr<Policy> policy);
    ~Session();
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    const Model& model() const { return *model_; }
    const SessionOptions& options() const { return options_; } // budget and KV type filled in
    const Policy& policy() const { return *policy_; }

    // Computes the complete chunks of the pending and the given tokens; the rest stays pending. Returns false if
    // cancelled: the given tokens that were not computed are discarded; tokens that were pending before the call
    // are either computed or still pending. Throws Error (Resources) when an unbounded policy is full.
    bool feed(std::span<const TokenId> tokens, const FeedOptions& options = {});
    // Computes the incomplete chunk, if any, and ends prefill: a policy with schedule "once" evicts now.
    bool finish(const FeedOptions& options = {});
    int64_t pending() const { return std::ssize(pending_); }

    // Sets the question rows: from now on every prefill chunk is followed by these tokens, as rows that attend to
    // the kept tokens, to the chunk and to one another. The policy gets the signals of chunk and question rows as
    // of one chunk. Then the question rows are removed, and everything else is bit for bit as without them. Empty:
    // off. Throws Error: Usage (BudgetDoesNotFit) if they do not fit the model's positions beside budget and chunk,
    // Failed (UnknownToken), Resources; then nothing has changed.
    void set_question_ids(std::vector<TokenId> tokens);
    const std::vector<TokenId>& question_ids() const { return question_ids_; }

    // If it is cancelled without a token, nothing was computed, and an incomplete chunk stays pending. It ends as
    // Full if an unbounded policy has no room for more tokens.
    GenerateResult generate(const GenerateOptions& options);
    // Decodes tokens that were generated from here before, one at a time, so that the cache is restored exactly;
    // `ended`: the sampler then chose an end of text. The sampler draws once per token, so that a sampler which
    // chose these tokens continues as it would have. Returns the number of tokens decoded, fewer than given if
    // stopped; nullopt if stopped before an incomplete chunk was computed, which stays pending.
    std::optional<int64_t> replay(std::span<const TokenId> tokens, bool ended, const std::stop_token& stop = {});
    // Throws Error (Resources, CacheFull or PositionsExhausted; Failed, StreamTooLong) if `tokens` more can never
    // be fed.
    void require_room(int64_t tokens) const { check_room(pending() + tokens, std::ssize(question_ids_)); }
    Sampler& sampler() { return sampler_; }
    // Restarts the sampler with new options; its repeat penalty still knows the tokens generated so far. Throws
    // Error (Usage) for an option out of range; then nothing has changed.
    void set_sampler(const SamplerOptions& options);

    // Returns the logits after the last token, computing an incomplete chunk first. REQUIRES: something was fed.
    const std::vector<float>& logits();

    uint64_t tokens_seen() const { return tokens_seen_; } // computed tokens, without pending ones
    RetentionMap retention() const;
    Telemetry telemetry() const;

    std::unique_ptr<Session> fork(); // computes an incomplete chunk; costs one copy of the cache
    // Changes nothing; pending tokens are part of the state. `round`: rounds the keys and values of the state, not
    // those of this session; the state's integrity check is then computed with the rounded ones.
    SessionState state(const RowRounding& round = {});
    // The most bytes that the logits and lists of a state with these settings can take. Throws as restore does.
    static uint64_t largest_lists(const Model& model, const SessionState& state);
    // Accepts a state that was computed with another arithmetic (arithmetic.h). Throws Error (Failed) if the
    // state was saved with another model, if its settings are impossible here, if it is inconsistent, or if the
    // model predicts something else here than when it was saved (SessionState::integrity_check).
    static std::unique_ptr<Session> restore(std::shared_ptr<const Model> model, const SessionState& state);
    // Uses the caller's policy, made as for the saved session.
    static std::unique_ptr<Session> restore(std::shared_ptr<const Model> model, const SessionState& state,
                                            std::unique_ptr<Policy> policy);

    // Continues from another session's state under other options: the policy starts anew on the kept tokens, and
    // lists that are too long for it are cut to its budgets with the next chunk. KV type and positions are those of
    // the state. Throws Error: Usage (PolicyCannotContinue) if the policy needs lists of equal length, or with the
    // same tokens, and the state has others; otherwise as the constructor and restore do.
    static std::unique_ptr<Session> adopt(std::shared_ptr<const Model> model, const SessionState& state,
                                          const SessionOptions& options);
    // Uses the caller's policy.
    static std::unique_ptr<Session> adopt(std::shared_ptr<const Model> model, const SessionState& state,
                                          const SessionOptions& options, std::unique_ptr<Policy> policy);

    // Replaces the pins; tokens that are already evicted do not come back. The policy starts anew on the kept
    // tokens, with the part of the budget that the pins leave; lists that are too long are cut with the next chunk.
    // Setting the same pins does nothing. Throws Error: Usage (PinsExceedBudget or BudgetDoesNotFit) if the pins
    // leave too little or make a list too long, Resources; then nothing has changed. REQUIRES: the policy was made
    // by name.
    void set_pins(const Pins& pins);
    void check_pins(const Pins& pins) const { policy_beside(pins); } // throws Usage as set_pins
    const Pins& pins() const { return options_.pins; }
    // The share of the (layer, KV head, token) triples of a range that are kept, among the tokens read so far.
    double held(const TokenRange& range) const;

    // Neither callback may change the session. With a device-resident cache, the sink receives events at the next
    // sync: with the next token, or when the session is queried.
    void set_eviction_sink(EvictionSink sink);
    void set_observer(std::function<void(const Selection&)> observer) { observer_ = std::move(observer); }

private:
    class HostEviction;
    class DeviceEviction;
    class Saving;
    Session(const std::shared_ptr<const Model>& model, SessionSetup setup);
    // Moves options and policy out of `setup`.
    Session(std::shared_ptr<const Model> model, SessionSetup& setup, const CacheShape& shape,
            std::vector<TokenId> question_ids);
    Session(const Session& other, KvCache cache);

    std::unique_ptr<SessionEviction> eviction_of(const CacheShape& shape); // with empty lists
    TokenLists& lists() const;
    void sync() const; // syncs the host's lists; const: the observable state does not change
    void sync_previous(bool last);
    bool run(int64_t tokens, const FeedOptions& options);
    void decode(TokenId token);
    void end_prefill();
    std::unique_ptr<Policy> policy_beside(const Pins& pins) const;
    // Rebuilds cache and forward pass for another policy, pins or number of question rows, with room for all lists
    // as they are. The kept tokens stay.
    void rebuild(const Policy& policy, const Pins& pins, int32_t question_rows);
    bool finish_or_wait(std::stop_token stop); // false: stopped, the incomplete chunk stays pending
    void check_tokens(std::span<const TokenId> tokens) const;
    bool has_room(int64_t tokens, int64_t question_rows) const;
    void check_room(int64_t tokens, int64_t question_rows) const;
    int64_t slots_left() const; // minimum over the lists of unbounded layers
    void compute_logits();
    TokenId choose(); // samples the next token, from the best logits alone if these suffice

    std::shared_ptr<const Model> model_;
    SessionOptions options_;
    PolicySpec given_; // the policy as requested; options_ holds the resolved one
    std::unique_ptr<Policy> policy_;
    KvCache cache_;
    std::unique_ptr<SessionEviction> eviction_; // with the lists of cache_
    mutable Transformer transformer_;           // mutable for sync()
    Sampler sampler_;
    std::vector<TokenId> pending_;
    std::vector<TokenId> question_ids_;
    std::vector<float> logits_; // after the last token, if has_logits_
    bool has_logits_ = false;
    TokenId last_token_ = -1;
    uint64_t tokens_seen_ = 0;
    uint64_t steps_seen_ = 0;
    uint64_t evicted_ = 0;
    double tokens_per_second_ = 0;
    EvictionSink eviction_sink_;
    std::function<void(const Selection&)> observer_;
};

} // namespace palimpsest::engine
