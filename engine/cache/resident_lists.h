// The lists of a cache whose backend evicts by itself (kernels/eviction.h): what was accumulated about their tokens
// lives there, and which tokens left is learnt later, many steps at a time.
//
// A step is logged when its work is queued. Its dropped ranks come back with the log, or, of a generated token,
// with its logits; settling then tells the host's lists what happened, in the order in which it did. The log has
// two halves: while one is on its way to the host, steps go to the other.
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

// What one step did to the lists of a layer.
struct SettledStep {
    int32_t layer = 0;
    uint64_t step = 0;                                 // as it was logged
    std::span<const TokenList* const> lists;           // [kv_heads] with the step's own tokens, before any left
    const std::vector<std::vector<uint32_t>>& dropped; // [kv_heads] ranks, ascending
};
using SettleSink = std::function<void(const SettledStep&)>;

class ResidentLists {
public:
    struct Shape {
        int32_t layers = 0;
        int32_t kv_heads = 0;
        int64_t longest = 0; // list, chunk and probe included
        bool with_signals = false;
        int64_t rows_logged = 0;  // tokens whose leaving fits the log, of all layers
        int64_t rows_planned = 0; // of a step, at most; more take new memory
        int64_t plans_kept = 1;   // steps of a layer in a super-chunk
    };
    ResidentLists(const Shape& shape,
                  kernels::Backend& backend); // backend must outlive this; throws Error (Resources)

    const Shape& shape() const { return shape_; }
    kernels::ListStatistics statistics(int32_t layer) const; // sum null: none
    // Replaces the pinned tokens of all lists: `ranks` [layers, kv_heads], ascending, of a layer that holds none
    // empty; `most` of a list there may ever be. Throws Error (Resources), and then nothing has changed.
    void pin(const std::vector<std::vector<uint32_t>>& ranks, uint64_t most, std::vector<bool> holding);
    // Of each list of the layer, that many of the newest ranks, `first` [kv_heads] and on, are pinned too.
    void pin_more(int32_t layer, std::span<const int32_t> first, uint32_t count);
    bool holds_pins(int32_t layer) const { return pins_.stride > 0 && pins_.holding[static_cast<size_t>(layer)]; }
    kernels::PinnedRanks pinned(int32_t layer) const;             // ranks null: the layer holds none
    std::span<const uint32_t> pinned_tokens(int32_t layer) const; // [kv_heads] how many, or empty
    uint32_t* kept() const { return kept_.data<uint32_t>(); }     // [kv_heads, longest], for one step
    // A plan in backend memory, good until the next one is sent. Layers mostly have the same plans, one chunk like
    // the other: what still lies there is not sent again.
    const uint32_t* send(const EvictionPlan& plan);

    struct Step {
        int32_t layer = 0;
        int32_t rows = 0;   // new tokens
        uint32_t first = 0; // stream index of the first of them
        uint64_t step = 0;
    };
    // Room for the dropped ranks of the next step: backend memory [kv_heads, stride]. False: the log is full.
    bool has_room(int64_t stride) const;
    uint32_t* room(int64_t stride) const;
    // A step whose dropped ranks go to room(stride).
    void log(const Step& step, const EvictionPlan& plan, int64_t stride);
    // A step of a generated token, whose dropped ranks come with deliver, [layers, kv_heads, stride].
    void log_token(const Step& step, const EvictionPlan& plan, int64_t stride);
    void deliver(std::span<const uint32_t> dropped); // throws Error (Internal) if it is of another size
    bool awaits_delivery() const { return awaits_; }
    bool is_settling() const { return settling_; }
    // What was logged so far begins to come back, and the host need not wait for what is logged from now on.
    void turn_log();

    // Applies to `lists` [layers, kv_heads] what was logged, up to a token whose dropped ranks are awaited; all of
    // it, whatever the sink throws. Called by the sink itself it does nothing.
    void settle(std::vector<TokenList>& lists, const SettleSink& sink);
    // The same of what was logged before turn_log was called last but one: what came since need not be done yet.
    void settle_earlier(std::vector<TokenList>& lists, const SettleSink& sink);
    bool settled() const { return steps_.empty(); }

    void read_statistics(int32_t layer, int32_t head, size_t tokens, TokenList& list) const;
    void write_statistics(int32_t layer, int32_t head, const TokenList& list);
    void copy_statistics(const ResidentLists& from); // REQUIRES: the same shape

    size_t allocated_bytes() const;

private:
    struct Logged {
        Step step;
        size_t words = 0; // index of its dropped ranks
        size_t stride = 0;
    };
    struct SentPlan {
        kernels::Buffer memory; // u32, grows
        std::vector<uint32_t> words;
    };
    const SentPlan* sent_before() const; // a plan of plan_words_
    void add(const Step& step, const EvictionPlan& plan, size_t words, int64_t stride);
    struct Log {
        kernels::Buffer memory;                    // u32 [layers * kv_heads * rows_logged]
        size_t used = 0;                           // words
        size_t base = 0;                           // of words_, where they belong
        size_t steps_before = 0;                   // of steps_, that were there when its first one was logged
        std::unique_ptr<kernels::Download> coming; // it was turned
    };
    Log& filling_log() { return logs_[current_]; }
    const Log& filling_log() const { return logs_[current_]; }
    Log& other_log() { return logs_[1 - current_]; }
    void fetch(Log& log); // what it holds
    void settle_first(size_t steps, std::vector<TokenList>& lists, const SettleSink& sink);
    void forget(size_t steps); // the first of them, which were applied
    void apply(const Logged& logged, const uint32_t* leaving, std::vector<TokenList>& lists,
               const SettleSink& sink);
    void drop(const Logged& logged, std::vector<TokenList>& lists); // what apply has found
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
    std::vector<SentPlan> plans_; // the last ones
    size_t next_plan_ = 0;        // whose place is taken next
    std::array<Log, 2> logs_;
    size_t current_ = 0;
    kernels::Buffer kept_;             // u32 [kv_heads, longest]
    std::vector<uint32_t> plan_words_; // scratch
    std::vector<Logged> steps_;
    std::vector<uint32_t> leaving_; // [steps, kv_heads]
    std::vector<uint32_t> words_;   // dropped ranks; those of the log and of a token to come are not there yet
    bool awaits_ = false;           // a token's dropped ranks
    size_t awaited_steps_ = 0;      // the last of steps_
    size_t awaited_base_ = 0;       // of words_; the rest of them
    bool settling_ = false;
    std::vector<std::vector<uint32_t>> dropped_; // scratch
    std::vector<const TokenList*> heads_;        // scratch
};

} // namespace palimpsest::engine
