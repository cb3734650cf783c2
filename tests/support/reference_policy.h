// Cache policies as policies.md words them, one entry at a time on plain vectors: slow, obvious, and sharing no
// code with the engine, which is held against it.
//
// Where the text is silent, this reference reads it so:
//  - Pinned entries are left out of everything but attention. What a list may hold beside them is its own budget
//    plus the pinned tokens it does not hold.
//  - n_l of an observed allocation is that of the layer's longest list.
//  - A layer mean goes by rank; ranks that a head does not have count as 0.
//  - budget=auto orders every list by its own pooled scores, and gives all lists of the layer the same length.
//  - heads=ada compares hbw-kv's entries, not its blocks.
//  - A tree without slots (m = 0) drops what leaves the recent window. A cursor at the end of its region starts
//    over when it is next needed, unless the region has grown by then.
//  - With omega = infinity an observed allocation is refreshed by chunks of at least 8 tokens, over all their rows.
//  - scissorhands drops floor(drop * c) entries more.
//  - What heads lend one another keeps a list, its pinned tokens included, below context - chunk.
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
    int budget = 1;              // pinned tokens included
    std::set<uint32_t> pinned{}; // stream indices that never leave
    int context = std::numeric_limits<int>::max();
    int chunk = 0;
};

// Stream indices of entries whose mean one of them took.
struct ReferenceMerge {
    uint32_t into = 0;
    std::vector<uint32_t> of;
    bool operator==(const ReferenceMerge&) const = default;
};

class ReferencePolicy {
public:
    // REQUIRES: settings that make_policy accepts.
    ReferencePolicy(const engine::PolicySpec& spec, const ReferenceShape& shape);
    // Another policy over the same lists: levels, cursors and weights start over.
    ReferencePolicy restarted(const engine::PolicySpec& spec, std::set<uint32_t> pinned) const;

    const ReferenceSettings& settings() const { return settings_; }
    ReferenceList& list(int layer, int head);

    // One chunk: append, then every list's statistics (accumulate, or written by the caller), then observe for
    // every layer, then evict.
    void append(int tokens);
    void accumulate(int layer, int head, const Attention& attention);
    void observe(int layer, const ReferenceObservation& seen);
    void evict();
    // schedule=once: what was read ends here; the next evict is the only one.
    void end_reading() { ended_ = true; }

    // The blocks of the last evict that became their mean, of more than one entry.
    const std::vector<ReferenceMerge>& merges(int layer, int head) const;
    // m of every list as it would be now, [layer][head].
    std::vector<std::vector<int>> slots() const;

private:
    struct View { // a list without its pinned entries
        ReferenceList entries, pinned;
        int unused = 0; // pinned tokens that the list does not hold: others stay in their slots
        int n() const { return static_cast<int>(entries.size()); }
    };

    size_t at(int layer, int head) const { return static_cast<size_t>(layer * shape_.heads + head); }
    bool decides_by_rule() const; // how much stays is the selection's own choice
    bool needs_shapes() const;
    void split();
    void join();
    std::vector<ReferenceLayer> layers_of(const std::vector<View>& views) const;
    bool is_due(const std::vector<ReferenceLayer>& layers) const;
    void cut(const std::vector<ReferenceLayer>& layers, int layer, int head);
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
    std::vector<int> cursors_;                        // one for each list
    std::vector<long double> weights_;                // of the layers, for observed allocations
    std::vector<std::vector<ReferenceMerge>> merges_; // [layers * heads], of the last evict
    std::vector<View> views_;                         // [layers * heads], during evict
    std::vector<std::vector<int>> slots_;             // [layer][head], during evict
};

} // namespace palimpsest::tests
