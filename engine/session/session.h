// One stream of tokens through a model under a fixed cache budget: feed a document, generate, fork, save.
//
// Chunks of b tokens attend to what was kept and to themselves; then the policy evicts every list back to its
// budget. Boundaries lie at multiples of b, counted from the start, from the last generated token, and from the
// last time an incomplete chunk was asked for (generate, fork, finish).
//
// Not thread-safe; sessions that share a model's backend take turns. Cancelling takes effect between super-chunks
// (within a chunk where one takes long) and between tokens, and leaves the session as after the last one.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <vector>

#include "engine/cache/fading.h"
#include "engine/cache/retention_map.h"
#include "engine/model/model.h"
#include "engine/model/transformer.h"
#include "engine/session/session_options.h"
#include "engine/session/session_setup.h"
#include "engine/session/session_state.h"
#include "engine/session/telemetry.h"

namespace palimpsest::engine {

// The input and the decision of a policy for one layer of one step. `lists` include the step's own tokens.
struct Selection {
    int32_t layer = 0;
    uint64_t step = 0; // chunks and decode steps before this one
    int32_t rows = 0;  // tokens of the step; 0 at the end of a reading
    std::span<const ListState> lists;
    const std::vector<std::vector<uint32_t>>& dropped; // ranks, per head
    const LayerObservation& seen;
    std::span<const std::vector<Merge>> merges; // per head, or empty; `lists` are as before them
};

struct FeedOptions {
    std::stop_token stop;
    std::function<void(const Telemetry&)> progress; // after every super-chunk
    // The loss of every token but a stream's first: -log p(token | what the policy let the model see).
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
    // Throws Error (Usage) for options that do not fit the model or one another, Resources for memory.
    Session(std::shared_ptr<const Model> model, const SessionOptions& options);
    // With a policy of the caller's own instead of one by name; options.policy and options.budget describe it.
    Session(std::shared_ptr<const Model> model, const SessionOptions& options, std::unique_ptr<Policy> policy);
    ~Session();
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    const Model& model() const { return *model_; }
    const SessionOptions& options() const { return options_; } // budget and KV type filled in
    const Policy& policy() const { return *policy_; }

    // Takes all the tokens; those of an incomplete chunk wait. Returns false if it was cancelled: then what was not
    // yet computed of them is forgotten; what waited before was computed first, or waits on. Throws Error
    // (Resources) when an unbounded policy is full.
    bool feed(std::span<const TokenId> tokens, const FeedOptions& options = {});
    // Computes the incomplete chunk, if any. With it a reading ends: a policy that waits for that (schedule "once")
    // evicts now.
    bool finish(const FeedOptions& options = {});
    int64_t pending() const { return std::ssize(pending_); }

    // Reading with a question in mind: from now on every chunk that is read is followed by these tokens, as rows
    // that attend to what is kept, to the chunk and to one another. Signals come from both as if they were one
    // chunk; then the probe's entries are taken back, and everything else is as without it, bit for bit. None: off.
    // Throws Error (Usage, PAL-BUDGET-01) if they do not fit the model's positions beside budget and chunk, Failed
    // (PAL-TEXT-01), Resources; and then changes nothing.
    void set_probe(std::vector<TokenId> tokens);
    const std::vector<TokenId>& probe() const { return probe_tokens_; }

    // Cancelled with no tokens: nothing was computed, and the tokens of an incomplete chunk go on waiting. Full: an
    // unbounded policy has no room for more.
    GenerateResult generate(const GenerateOptions& options);
    // Takes in again what was generated from here before, token by token, so that the cache is what it was;
    // `ended`: the sampler then chose an end of text. The sampler draws once a token, and goes on as it would have
    // if it is the one that chose them. Returns how many tokens were taken in, all unless it was stopped; nothing
    // if it was stopped before an incomplete chunk was computed, whose tokens go on waiting.
    std::optional<int64_t> replay(std::span<const TokenId> tokens, bool ended, std::stop_token stop = {});
    // Throws Error (Resources, PAL-BUDGET-02 or 03; Failed, PAL-TEXT-02) if so many tokens more can never be fed.
    void require_room(int64_t tokens) const { check_room(pending() + tokens, std::ssize(probe_tokens_)); }
    Sampler& sampler() { return sampler_; }
    // A fresh sampler for what is generated from now on; what was generated stays known to its repeat penalty.
    // Throws Error (Usage) for an option out of range; then nothing changed.
    void set_sampler(const SamplerOptions& options);

    // Logits after the last token. REQUIRES: something was fed; finishes an incomplete chunk.
    const std::vector<float>& logits();

    uint64_t tokens_seen() const { return tokens_seen_; } // computed; pending ones not counted
    RetentionMap retention() const;
    Telemetry telemetry() const;

    std::unique_ptr<Session> fork(); // finishes an incomplete chunk; costs one copy of the cache
    SessionState state();            // changes nothing: tokens of an incomplete chunk go on waiting
    // The most bytes that logits and lists of a state with these settings can have. Throws as restore does.
    static uint64_t largest_lists(const Model& model, const SessionState& state);
    // Throws Error (Failed) if the state is of another model, target or setting, or does not fit itself.
    static std::unique_ptr<Session> restore(std::shared_ptr<const Model> model, const SessionState& state);
    // With a policy of the caller's own, made as for the session that was saved.
    static std::unique_ptr<Session> restore(std::shared_ptr<const Model> model, const SessionState& state,
                                            std::unique_ptr<Policy> policy);

    // Goes on from what another session held, under other options: the policy begins anew with what is kept, lists
    // that are too long for it go back to its budgets with the next chunk, and what has left stays away. KV type
    // and positions are the state's. Throws Error: Usage (PAL-POLICY-07) where the policy wants lists of equal
    // length or with the same tokens and they are not, or for other positions; and as the constructor and restore
    // do.
    static std::unique_ptr<Session> adopt(std::shared_ptr<const Model> model, const SessionState& state,
                                          const SessionOptions& options);
    // With a policy of the caller's own.
    static std::unique_ptr<Session> adopt(std::shared_ptr<const Model> model, const SessionState& state,
                                          const SessionOptions& options, std::unique_ptr<Policy> policy);

    // Tokens that no policy evicts from now on, in place of those before; what has left already stays away. The
    // policy begins anew with what is kept, its own slots made for the rest of the budget; lists that are too long
    // for that go back to it with the next chunk. The same pins change nothing. Throws Error (Usage, PAL-PIN-01 or
    // PAL-BUDGET-01) if they leave too little or make a list too long, Resources; and then changes nothing.
    // REQUIRES: the policy was made by its name.
    void set_pins(const Pins& pins);
    void check_pins(const Pins& pins) const { policy_beside(pins); } // Usage as set_pins does, changes nothing
    const Pins& pins() const { return options_.pins; }
    // How many of the (layer, KV head, token) triples of a range are held, of those that were read.
    double held(const TokenRange& range) const;

    // Neither may change the session. Where the backend evicts, a sink hears of a token once the host does: with
    // the next token, or whatever is asked of the session.
    void set_fade_sink(FadeSink sink);
    void set_observer(std::function<void(const Selection&)> observer) { observer_ = std::move(observer); }

private:
    class SessionStep;
    class Step;
    class ResidentStep;
    class TakeBack;
    Session(std::shared_ptr<const Model> model, SessionSetup setup);
    // Takes options and policy out of `setup`.
    Session(std::shared_ptr<const Model> model, SessionSetup& setup, const CacheShape& shape,
            std::vector<TokenId> probe_tokens);
    Session(const Session& other, KvCache cache);

    void reserve(const CacheShape& cache, const TransformerShape& shape);
    void make_step();
    // So that a resident cache's lists keep them under this policy. REQUIRES: settled.
    static void pin_lists(KvCache& cache, const Pins& pins, const Policy& policy);
    void settle() const; // the host's lists, where the backend evicts: what a session is stays the same
    void settle_behind(bool last);
    bool run(int64_t tokens, const FeedOptions& options);
    void decode(TokenId token);
    void end_reading();
    std::unique_ptr<Policy> policy_beside(const Pins& pins) const;
    // Cache and forward pass for another policy with its pins, probe, or longer lists than its limits; what is held
    // stays.
    void rebuild(const Policy& policy, const Pins& pins, int32_t probe_rows, std::span<const int32_t> list_lengths);
    std::vector<int32_t> list_lengths() const;
    bool finish_or_wait(std::stop_token stop); // false: stopped, and the incomplete chunk waits
    void check_tokens(std::span<const TokenId> tokens) const;
    bool has_room(int64_t tokens, int64_t probe_rows) const;
    void check_room(int64_t tokens, int64_t probe_rows) const;
    int64_t slots_left() const; // of the list with the fewest, among those that nothing leaves
    Probe restore_probe();      // leaves the session as it was
    static std::unique_ptr<Session> restore(std::shared_ptr<const Model> model, const SessionState& state,
                                            SessionSetup setup);
    static std::unique_ptr<Session> adopt(std::shared_ptr<const Model> model, SessionState state,
                                          SessionSetup setup);
    void take_over(const SessionState& state); // all but the lists
    void restore_lists(const SessionState& state);
    void compute_logits();
    TokenId choose(); // the next token; of the best logits alone where these suffice
    void report_losses(std::span<const TokenId> tokens, uint64_t first, const FeedOptions& options);

    std::shared_ptr<const Model> model_;
    SessionOptions options_;
    PolicySpec given_; // the policy as asked for; options_ has it resolved
    std::unique_ptr<Policy> policy_;
    mutable KvCache cache_;           // settle
    mutable Transformer transformer_; // settle
    std::unique_ptr<SessionStep> step_;
    Sampler sampler_;
    std::vector<TokenId> pending_;
    std::vector<TokenId> probe_tokens_;
    std::vector<float> logits_; // after the last token, if has_logits_
    bool has_logits_ = false;
    TokenId last_token_ = -1;
    uint64_t tokens_seen_ = 0;
    uint64_t steps_seen_ = 0;
    uint64_t evicted_ = 0;
    double tokens_per_second_ = 0;
    FadeSink fade_sink_;
    std::function<void(const Selection&)> observer_;
};

} // namespace palimpsest::engine
