// Eviction on the backend: the host decides everything that needs no scores (how many tokens each list evicts, and
// the tile schedule), the backend compares scores and evicts. Nothing waits for the host.
#pragma once

#include <cstdint>

namespace palimpsest::kernels {

// Statistics that a backend accumulates for the tokens of one layer's lists, in rank order: [kv_heads, stride]
// each.
struct ListStatistics {
    double* sum = nullptr;   // attention received, mean over the query group; or low counts; or a signal of the key
    double* count = nullptr; // number of queries summed in it
    int64_t stride = 0;
};

// Pinned tokens of one layer's lists. Selection ignores them: the entries of a list are its other ranks, and entry
// numbers skip the pinned ones.
struct PinnedRanks {
    uint32_t* ranks = nullptr;      // [kv_heads, stride] ascending; null: nothing is pinned
    const uint32_t* held = nullptr; // [kv_heads] number of pinned ranks
    int64_t stride = 0;
};

// Adds one step's signals to the statistics: y' = decay * y + x for every rank of a list, where ranks that arrived
// with this step start at y = 0. For sums, x is columns / divisor. For counts, x is `counted`, but for the i-th new
// rank (from 0), which only rows - i of the rows can see, min(counted, rows - i). In double precision, each
// operation rounded once, so the bits match engine/policy/signals/accumulator.h.
struct AccumulateArgs {
    int32_t kv_heads = 0;
    const uint32_t* plan = nullptr; // ListPlan [kv_heads]; only `size` is read
    int64_t max_size = 0;           // upper bound for the size of a list
    const float* columns = nullptr; // [kv_heads, column_stride]
    int64_t column_stride = 0;
    int32_t divisor = 1;
    int32_t rows = 0; // rows of this step, question rows included
    // The question rows are the last rows of the step; no list holds them, and `size` excludes them.
    int32_t question_rows = 0;
    int32_t counted = 0; // number of rows summed in the columns
    double decay = 1;    // the factor for past values
    ListStatistics statistics;
};

enum class ScoreRule : uint8_t { None, Mean, Total, Negative }; // sum / count; sum; -sum
enum class PoolRule : uint8_t { None, Average, Max };           // engine/policy/signals/shaping.h

enum class SelectRule : uint8_t {
    Given,  // evicts the ranks given in the plan
    Lowest, // of the candidates [first, end), evicts the lowest scores; ties: evicts the newer first
    Tiles,  // tile eviction: keeps some entries of every eviction tile
};

// How a policy selects; the same for all lists and eviction steps.
struct SelectionRule {
    SelectRule select = SelectRule::Given;
    ScoreRule score = ScoreRule::None;
    // Lowest: scores are first pooled over [0, end); with layer_mean, every list then gets the mean over the
    // layer's lists, rank by rank. NaN counts as the lowest score.
    PoolRule pooling = PoolRule::None;
    int32_t kernel = 1; // odd
    bool layer_mean = false;
    // Tiles: an eviction tile has `tile` places. `kept` of its entries are kept and moved to its first places, in
    // their previous order. An entry is `unit` ranks; its score is the mean of theirs, summed from the oldest.
    int32_t tile = 2;
    int32_t kept = 1;
    int32_t unit = 1;
    // true: ties keep the older entry, and NaN is the lowest score. false (REQUIRES tile 2, kept 1): keeps the left
    // entry if left > right, otherwise the right one.
    bool ties_keep_older = false;
};

// One list's part of an eviction plan: eight 32-bit words. Offsets count words from the beginning of the plan,
// which consists of ListPlan [kv_heads] followed by the data they refer to; lists may share data.
struct ListPlan {
    uint32_t size = 0;      // number of ranks, including those of this step and pinned ones
    uint32_t evicted = 0;   // entries to evict; 0: the members below are not read
    uint32_t first = 0;     // Lowest: first candidate; Tiles: entry at place 0
    uint32_t end = 0;       // Lowest: end of the candidates
    uint32_t data = 0;      // offset. Given: `evicted` entries, ascending; Tiles: `tile` places per tile, ascending
    uint32_t waves = 0;     // Tiles: number of waves; the tiles of a wave share no place
    uint32_t wave_ends = 0; // offset. Tiles: [waves] number of tiles up to the end of each wave
    uint32_t given = 0;     // 1: as with SelectRule::Given, whatever the rule is: `data` lists the evicted entries
};
static_assert(sizeof(ListPlan) == 32);

// Selects what to evict, and removes it from statistics, order lists and pinned ranks. Does not move keys and
// values.
struct EvictArgs {
    int32_t kv_heads = 0;
    const uint32_t* plan = nullptr; // ListPlan [kv_heads] and their data
    int64_t max_size = 0;           // upper bound for the size of a list
    int64_t max_evicted = 0;        // upper bound for the ranks evicted from a list
    SelectionRule rule;
    ListStatistics statistics; // sum null: none
    PinnedRanks pinned{};      // `ranks` are renumbered to ranks after eviction
    uint32_t* order = nullptr; // [kv_heads, order_stride] as in KvLists, after a decoded token; null after a chunk
    int64_t order_stride = 0;
    uint32_t* dropped = nullptr; // out [kv_heads, dropped_stride] evicted ranks, ascending
    int64_t dropped_stride = 0;
    uint32_t* kept = nullptr; // out [kv_heads, kept_stride] kept ranks, ascending; or null
    int64_t kept_stride = 0;
};

} // namespace palimpsest::kernels
