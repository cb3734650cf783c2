// The eviction log of a device-resident cache: the host learns later which tokens the backend evicted, many steps
// at a time.
//
// A step is logged when its work is queued. Its dropped ranks are downloaded with the log or, for a generated
// token, with its logits. sync() then applies the steps to the host's lists in order. The log has two halves: while
// one is being downloaded, new steps go to the other.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "engine/cache/token_list.h"
#include "engine/policy/eviction_plan.h"
#include "kernels/backend.h"

namespace palimpsest::engine {

// One eviction step of a layer, as the sink sees it: the lists, and the ranks they are about to drop.
struct SyncedStep {
    int32_t layer = 0;
    uint64_t step = 0;                                 // EvictionLog::Step::step, as logged
    std::span<const TokenList* const> lists;           // [kv_heads] with the step's tokens, before it drops any
    const std::vector<std::vector<uint32_t>>& dropped; // [kv_heads] ranks, ascending
};
using SyncSink = std::function<void(const SyncedStep&)>;

class EvictionLog {
public:
    // `words`: how many dropped ranks, of all lists together, each half of the log has room for. backend must
    // outlive this; throws Error (Resources).
    EvictionLog(int32_t kv_heads, size_t words, kernels::Backend& backend);

    struct Step {
        int32_t layer = 0;
        int32_t rows = 0;   // new tokens
        uint32_t first = 0; // stream index of the first of them
        uint64_t step = 0;  // chunks and decode steps before this one
    };
    // room() returns backend memory for the dropped ranks of the next step, [kv_heads, stride]; has_room() is false
    // when the log is full.
    bool has_room(int64_t stride) const;
    uint32_t* room(int64_t stride) const;
    // Logs a step whose dropped ranks the backend writes to room(stride).
    void log(const Step& step, const EvictionPlan& plan, int64_t stride);
    // Logs a step of a generated token. Its dropped ranks arrive later, with those of the token's other layers:
    // set_dropped_ranks() takes them as [layers, kv_heads, stride].
    void log_token(const Step& step, const EvictionPlan& plan, int64_t stride);
    bool awaits_dropped_ranks() const { return awaits_; }
    size_t awaited_ranks() const { return words_.size() - awaited_base_; } // REQUIRES: awaits_dropped_ranks
    void set_dropped_ranks(std::span<const uint32_t> dropped);             // REQUIRES: as many as are awaited
    // Starts the download of the current half of the log and switches to the other half, so that the host need not
    // wait for the steps logged from now on.
    void switch_log();

    // Applies the logged steps to `lists` [layers, kv_heads], up to a generated token whose dropped ranks have not
    // arrived. If the sink throws, the remaining steps are applied without it and the exception is rethrown. Does
    // nothing when called from the sink.
    void sync(std::vector<TokenList>& lists, const SyncSink& sink);
    // Like sync(), but leaves out the newest steps, those logged since the last switch_log() but one: they may
    // still be running.
    void sync_earlier(std::vector<TokenList>& lists, const SyncSink& sink);
    bool is_synced() const { return steps_.empty(); }
    bool is_syncing() const { return syncing_; }

    size_t allocated_bytes() const;

private:
    struct Logged {
        Step step;
        size_t words = 0; // index of its dropped ranks in words_
        size_t stride = 0;
    };
    struct Half {
        kernels::Buffer memory;                    // u32
        size_t used = 0;                           // words
        size_t base = 0;                           // index in words_ that its contents are downloaded to
        size_t steps_before = 0;                   // size of steps_ when its first step was logged
        std::unique_ptr<kernels::Download> coming; // set while its download runs
    };
    Half& filling() { return halves_[current_]; }
    const Half& filling() const { return halves_[current_]; }
    Half& other() { return halves_[1 - current_]; }
    void add(const Step& step, const EvictionPlan& plan, size_t words, int64_t stride);
    void fetch(Half& half); // downloads the contents of the half into words_
    void sync_first(size_t steps, std::vector<TokenList>& lists, const SyncSink& sink);
    void forget(size_t steps); // removes the first `steps` of steps_
    void apply(const Logged& logged, const uint32_t* evicted, std::vector<TokenList>& lists, const SyncSink& sink);
    void drop(const Logged& logged, std::vector<TokenList>& lists); // drops the ranks in dropped_
    TokenList* lists_of(const Logged& logged, std::vector<TokenList>& lists) const;

    int32_t kv_heads_;
    kernels::Backend* backend_;
    std::array<Half, 2> halves_;
    size_t current_ = 0;
    std::vector<Logged> steps_;
    std::vector<uint32_t> evicted_; // [steps, kv_heads]
    std::vector<uint32_t> words_;   // dropped ranks; those not yet downloaded are placeholders
    bool awaits_ = false;           // the dropped ranks of a generated token have not arrived
    size_t awaited_steps_ = 0;      // how many of the last steps_ are that token's
    size_t awaited_base_ = 0;       // index in words_ of that token's dropped ranks
    bool syncing_ = false;
    std::vector<std::vector<uint32_t>> dropped_; // scratch
    std::vector<const TokenList*> heads_;        // scratch
};

} // namespace palimpsest::engine
