// Reference implementation of the cache policies in docs/policies-spec.md, one entry at a time on plain vectors.
// Shares no code with the engine, which tests compare with it.
//
// Where the specification is silent, this reference assumes:
//  - Pinned entries take part only in attention. A list may hold its budget without pinned tokens, the pinned
//    tokens in it, and one more entry for each pinned token that is not in it.
//  - n_l of an observed allocation is the length of the layer's longest list.
//  - A layer mean is by rank; ranks beyond a head's list count as 0.
//  - budget=auto orders every list by its own pooled scores, and gives all lists of the layer the same length.
//  - heads=ada compares entries of hbw-kv and chunkkv, not blocks.
//  - A tree without slots (m = 0) evicts the tokens that are no longer recent. A cursor at the end of its region
//    restarts when it is next needed, unless the region has grown by then.
//  - With omega = infinity, chunks of at least 8 tokens refresh an observed allocation, using all their rows.
//  - scissorhands evicts floor(drop * c) additional entries.
//  - Lending between heads keeps a list, including its pinned tokens, below context - chunk.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "engine/policy/policy_spec.h"
#include "tests/support/reference_budgets.h"
#include "tests/support/reference_settings.h"
#include "tests/support/reference_signals.h"

namespace palimpsest::tests {

struct ReferenceShape {
    int layers = 1, heads = 1;
    int budget = 1;              // includes pinned tokens
    std::set<uint32_t> pinned{}; // stream indices, never evicted
    int context = std::numeric_limits<int>::max();
    int chunk = 0;
};

// The mean of the entries `of` replaced the entry `into`; all are stream indices.
struct ReferenceMerge {
    uint32_t into = 0;
    std::vector<uint32_t> of;
    bool operator==(const ReferenceMerge&) const = default;
};

class ReferencePolicy {
public:
    // REQUIRES: settings that make_policy accepts.
    ReferencePolicy(const engine::PolicySpec& spec, const ReferenceShape& shape);
    // Returns another policy on copies of the lists, with initial levels, cursors and weights.
    ReferencePolicy restarted(const engine::PolicySpec& spec, std::set<uint32_t> pinned) const;

    const ReferenceSettings& settings() const { return settings_; }
    ReferenceList& list(int layer, int head);

    // For each chunk, call append, then accumulate for every list (or write its statistics), then observe for every
    // layer, then evict.
    void append(int tokens);
    void accumulate(int layer, int head, const Attention& attention);
    void observe(int layer, const ReferenceObservation& seen);
    void evict();
    // For schedule=once: the input has been read, and the next evict() is the only one that evicts.
    void end_prefill() { ended_ = true; }

    // The blocks, of more than one entry, that the last evict() replaced by their mean.
    const std::vector<ReferenceMerge>& merges(int layer, int head) const;
    // Slots m of every list at present, [layer][head].
    std::vector<std::vector<int>> slots() const;

private:
    struct View { // a list without its pinned entries
        ReferenceList entries, pinned;
        int unused = 0; // how many pinned tokens are not in the list; other tokens may use their slots
        int n() const { return static_cast<int>(entries.size()); }
    };

    size_t at(int layer, int head) const { return static_cast<size_t>(layer * shape_.heads + head); }
    bool decides_by_rule() const; // the selection rule itself determines how many entries are kept
    bool needs_shapes() const;
    void split();
    void join();
    std::vector<ReferenceLayer> layers_of(const std::vector<View>& views) const;
    bool is_due(const std::vector<ReferenceLayer>& layers) const;
    void cut(const std::vector<ReferenceLayer>& layers, int layer, int head);
    void sample(View& view, int target, int layer, int head) const;
    std::vector<int> stay_by_rule(const ReferenceLayer& layer, int index, int head) const;
    std::vector<int> stay_by_choice(const std::vector<double>& shaped, int layer, int head);
    std::vector<int> choose(const std::vector<double>& candidates, int slots, int layer, int head);
    void merge(int layer, int head, int first, int last, int into);

    engine::PolicySpec spec_;
    ReferenceShape shape_;
    ReferenceSettings settings_;
    uint32_t tokens_ = 0;
    bool ended_ = false, done_ = false;
    std::vector<ReferenceList> lists_;                // [layers * heads]
    std::vector<int> cursors_;                        // one per list
    std::vector<long double> weights_;                // per layer, for observed allocations
    std::vector<std::vector<ReferenceMerge>> merges_; // [layers * heads], from the last evict
    std::vector<View> views_;                         // [layers * heads], during evict
    std::vector<std::vector<int>> slots_;             // [layer][head], during evict
};

} // namespace palimpsest::tests
