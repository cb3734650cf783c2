// The lists of a device-resident cache (kernels/eviction.h): the backend holds their statistics, and the host
// learns later which tokens were evicted, many steps at a time.
//
// A step is logged when its work is queued. Its dropped ranks are downloaded with the eviction log or, for a
// generated token, with its logits. sync() then applies the steps to the host's lists in order. The log has two
// halves: while one is being downloaded, new steps go to the other.
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

// What one eviction step did to the lists of a layer.
struct SyncedStep {
    int32_t layer = 0;
    uint64_t step = 0;                                 // Step::step, as logged
    std::span<const TokenList* const> lists;           // [kv_heads] the step's tokens appended, nothing dropped yet
    const std::vector<std::vector<uint32_t>>& dropped; // [kv_heads] ranks, ascending
};
using SyncSink = std::function<void(const SyncedStep&)>;

class DeviceLists {
public:
    struct Shape {
        int32_t layers = 0;
        int32_t kv_heads = 0;
        int64_t longest = 0; // most tokens of a list, chunk and question rows included
        bool with_signals = false;
        int64_t rows_logged = 0;  // dropped ranks per list that fit the log
        int64_t rows_planned = 0; // expected most rows of a step; a larger plan reallocates
        int64_t plans_kept = 1;   // steps of a layer in a super-chunk
    };
    DeviceLists(const Shape& shape,
                kernels::Backend& backend); // backend must outlive this; throws Error (Resources)

    const Shape& shape() const { return shape_; }
    kernels::ListStatistics statistics(int32_t layer) const; // sum null: no statistics
    // Replaces the pinned tokens of all lists. `ranks`: [layers, kv_heads], ascending, empty for layers without
    // pins; `most`: the most pinned tokens a list may ever hold. Throws Error (Resources), and then nothing has
    // changed.
    void pin(const std::vector<std::vector<uint32_t>>& ranks, uint64_t most, std::vector<bool> holding);
    // Also pins `count` ranks of each list of the layer, from `first` [kv_heads] on; they are newer than all
    // pinned.
    void pin_more(int32_t layer, std::span<const int32_t> first, uint32_t count);
    bool holds_pins(int32_t layer) const { return pins_.stride > 0 && pins_.holding[static_cast<size_t>(layer)]; }
    kernels::PinnedRanks pinned(int32_t layer) const;             // ranks null: no pins in this layer
    std::span<const uint32_t> pinned_tokens(int32_t layer) const; // [kv_heads] number of pinned tokens, or empty
    uint32_t* kept() const { return kept_.data<uint32_t>(); }     // [kv_heads, longest], valid for one step
    // Returns the plan in backend memory, valid until the next call. Layers and chunks mostly have equal plans: a
    // plan that is still in memory is not uploaded again.
    const uint32_t* send(const EvictionPlan& plan);

    struct Step {
        int32_t layer = 0;
        int32_t rows = 0;   // new tokens
        uint32_t first = 0; // stream index of the first of them
        uint64_t step = 0;
    };
    // room() returns backend memory for the dropped ranks of the next step, [kv_heads, stride]; has_room() is false
    // when the log is full.
    bool has_room(int64_t stride) const;
    uint32_t* room(int64_t stride) const;
    // Logs a step whose dropped ranks go to room(stride).
    void log(const Step& step, const EvictionPlan& plan, int64_t stride);
    // Logs a step of a generated token, whose dropped ranks, [layers, kv_heads, stride], go to set_dropped_ranks().
    void log_token(const Step& step, const EvictionPlan& plan, int64_t stride);
    void set_dropped_ranks(std::span<const uint32_t> dropped); // throws Error (Internal) if the size is wrong
    bool awaits_dropped_ranks() const { return awaits_; }
    bool is_syncing() const { return syncing_; }
    // Starts the download of the current half of the log and switches to the other half, so that the host need not
    // wait for the steps logged from now on.
    void switch_log();

    // Applies the logged steps to `lists` [layers, kv_heads], up to a generated token whose dropped ranks have not
    // arrived. If the sink throws, the remaining steps are applied without it and the exception is rethrown. Does
    // nothing when called from the sink.
    void sync(std::vector<TokenList>& lists, const SyncSink& sink);
    // Like sync(), but only for steps logged before the second-latest switch_log(): newer ones may still be
    // running.
    void sync_earlier(std::vector<TokenList>& lists, const SyncSink& sink);
    bool is_synced() const { return steps_.empty(); }

    void read_statistics(int32_t layer, int32_t head, size_t tokens, TokenList& list) const;
    void write_statistics(int32_t layer, int32_t head, const TokenList& list);
    void copy_statistics(const DeviceLists& from); // REQUIRES: the same shape

    size_t allocated_bytes() const;

private:
    struct Logged {
        Step step;
        size_t words = 0; // index of its dropped ranks in words_
        size_t stride = 0;
    };
    struct SentPlan {
        kernels::Buffer memory; // u32, grows
        std::vector<uint32_t> words;
    };
    const SentPlan* sent_before() const; // a plan in memory equal to plan_words_, or null
    void add(const Step& step, const EvictionPlan& plan, size_t words, int64_t stride);
    struct Log {
        kernels::Buffer memory;                    // u32 [layers * kv_heads * rows_logged]
        size_t used = 0;                           // words
        size_t base = 0;                           // index in words_ where they belong
        size_t steps_before = 0;                   // number of steps_ when its first step was logged
        std::unique_ptr<kernels::Download> coming; // set while its download runs
    };
    Log& filling_log() { return logs_[current_]; }
    const Log& filling_log() const { return logs_[current_]; }
    Log& other_log() { return logs_[1 - current_]; }
    void fetch(Log& log); // downloads its contents into words_
    void sync_first(size_t steps, std::vector<TokenList>& lists, const SyncSink& sink);
    void forget(size_t steps); // removes the first `steps` of steps_
    void apply(const Logged& logged, const uint32_t* leaving, std::vector<TokenList>& lists, const SyncSink& sink);
    void drop(const Logged& logged, std::vector<TokenList>& lists); // drops the ranks in dropped_
    size_t list_at(int32_t layer, int32_t head) const
    {
        return static_cast<size_t>(layer) * static_cast<size_t>(shape_.kv_heads) + static_cast<size_t>(head);
    }

    struct PinnedLists {
        kernels::Buffer ranks; // u32 [layers, kv_heads, stride]
        kernels::Buffer held;  // u32 [layers, kv_heads]
        std::vector<uint32_t> held_here;
        std::vector<bool> holding; // [layers]
        size_t stride = 0;         // 0: there are no pins
    };

    Shape shape_;
    kernels::Backend* backend_;
    PinnedLists pins_;
    kernels::Buffer sum_, count_; // f64 [layers, kv_heads, longest]
    std::vector<SentPlan> plans_; // the latest plans, a ring buffer
    size_t next_plan_ = 0;        // index of the one to overwrite next
    std::array<Log, 2> logs_;
    size_t current_ = 0;
    kernels::Buffer kept_;             // u32 [kv_heads, longest]
    std::vector<uint32_t> plan_words_; // scratch
    std::vector<Logged> steps_;
    std::vector<uint32_t> leaving_; // [steps, kv_heads]
    std::vector<uint32_t> words_;   // dropped ranks; those not yet downloaded are placeholders
    bool awaits_ = false;           // the dropped ranks of a generated token have not arrived
    size_t awaited_steps_ = 0;      // how many of the last steps_ are that token's
    size_t awaited_base_ = 0;       // index in words_ from which its dropped ranks go
    bool syncing_ = false;
    std::vector<std::vector<uint32_t>> dropped_; // scratch
    std::vector<const TokenList*> heads_;        // scratch
};

} // namespace palimpsest::engine
