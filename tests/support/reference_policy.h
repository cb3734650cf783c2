// Cache policies as policies.md words them, one entry at a time on plain vectors: slow, obvious, and sharing no
// code with the engine, which is held against it.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "engine/policy/policy_spec.h"

namespace palimpsest::tests {

struct ReferenceEntry {
    uint32_t stream = 0;
    double sum = 0;
    double count = 0;
    int level = 0; // height or level in a tree of merges
};

using ReferenceList = std::vector<ReferenceEntry>;

// A[g][r][j]: attention of query head g of the group, chunk row r, on entry j. Entries a row does not see are 0.
using Attention = std::vector<std::vector<std::vector<double>>>;

// full, streaming, treekv, treekv-log and lacache with all their parameters.
class ReferencePolicy {
public:
    // REQUIRES: settings that make_policy accepts. `pinned`: stream indices that never leave.
    ReferencePolicy(const engine::PolicySpec& spec, int layers, int heads, int budget,
                    std::set<uint32_t> pinned = {});
    // Another policy over the same lists: levels and cursors start over.
    ReferencePolicy restarted(const engine::PolicySpec& spec, std::set<uint32_t> pinned) const;

    ReferenceList& list(int layer, int head);
    // New entries of all lists, behind the others.
    void append(int tokens);
    // Policies.md, 3.1, for one list and the chunk just appended. REQUIRES: a policy with signals.
    void accumulate(int layer, int head, const Attention& attention);
    // Every list of the layer back to its budget, if the schedule says so.
    void evict(int layer);

private:
    std::string text(const std::string& key, const std::string& fallback) const;
    int number(const std::string& key, int fallback) const;
    double score(const ReferenceEntry& entry) const;
    bool keeps_left(const ReferenceEntry& left, const ReferenceEntry& right) const;
    std::vector<int> kept_offsets(int layer, int tile, int kept) const;

    void evict_streaming(ReferenceList& list) const;
    void evict_old_first(ReferenceList& list) const;
    void evict_treekv(ReferenceList& list, int& cursor) const;
    void evict_treekv_log(ReferenceList& list) const;
    void evict_lacache(ReferenceList& list, int layer, int& cursor) const;

    engine::PolicySpec spec_;
    int layers_, heads_;
    std::set<uint32_t> pinned_;
    int budget_;     // pinned tokens included
    int c_, s_, w_;  // budget without them, sinks, recent
    int unused_ = 0; // slots of pinned tokens that the list at hand does not hold: others stay in them
    int excess_ = 1; // entries over the budget at which a list is cut
    uint32_t tokens_ = 0;
    std::vector<ReferenceList> lists_; // [layers * heads]
    std::vector<int> cursors_;         // one for each list
};

} // namespace palimpsest::tests
