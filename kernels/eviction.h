// Eviction where the scores are: the host decides what no score is needed for (how many tokens leave each list, and
// which of them meet), the backend compares scores and takes the losers out. Nothing waits for the host.
#pragma once

#include <cstdint>

namespace palimpsest::kernels {

// What a backend accumulates about the tokens of one layer's lists, in rank order: [kv_heads, stride] each.
struct ListStatistics {
    double* sum = nullptr;   // attention received, mean over the group; or low rows
    double* count = nullptr; // queries counted in it
    int64_t stride = 0;
};

// Pinned tokens of one layer's lists, which no selection sees: entries of a list are what it holds beside these,
// and their numbers skip them.
struct PinnedRanks {
    uint32_t* ranks = nullptr;      // [kv_heads, stride] ascending; null: nothing is pinned
    const uint32_t* held = nullptr; // [kv_heads] how many
    int64_t stride = 0;
};

// Adds one step's signals to the statistics (policies.md, 3.1): of a list of n ranks, y' = kept y + x, where the
// newest `rows` ranks have y = 0. x is columns / divisor for sums. For counts it is `counted`, and for the i-th of
// the newest ranks, which rows - i of the rows can see, min(counted, rows - i). In double precision, each operation
// rounded once: the bits are those of engine/policy/accumulator.h.
struct AccumulateArgs {
    int32_t kv_heads = 0;
    const uint32_t* plan = nullptr; // ListPlan [kv_heads], of which only `size` is read
    int64_t most_size = 0;          // of a list, at most
    const float* columns = nullptr; // [kv_heads, column_stride]
    int64_t column_stride = 0;
    int32_t divisor = 1;
    int32_t rows = 0;       // that came, those of a probe included
    int32_t probe_rows = 0; // the last of them, which no list holds: `size` does not count them
    int32_t counted = 0;    // rows that are summed up in the columns
    double kept = 1;        // of the past
    ListStatistics statistics;
};

enum class ScoreRule : uint8_t { None, Mean, Total, FewLow }; // sum / count; sum; -sum
enum class PoolRule : uint8_t { None, Average, Max };         // engine/policy/shaping.h

enum class SelectRule : uint8_t {
    Given,  // these ranks leave
    Lowest, // of the candidates [first, end), those with the lowest scores; of equal ones the newer leave first
    Tiles,  // neighbours meet tile by tile, and of every tile some stay
};

// How a policy selects; the same for all lists and steps.
struct SelectionRule {
    SelectRule select = SelectRule::Given;
    ScoreRule score = ScoreRule::None;
    // Lowest: scores are pooled over [0, end) first; then every list gets the mean of the layer's, rank by rank.
    // What is not a number then counts as the least of all.
    PoolRule pooling = PoolRule::None;
    int32_t kernel = 1; // odd
    bool layer_mean = false;
    // Tiles: `tile` places, of which `kept` entries stay, moved to the tile's first places in the order they stood
    // in. An entry is `unit` ranks, its score the mean of theirs, added up from the oldest.
    int32_t tile = 2;
    int32_t kept = 1;
    int32_t unit = 1;
    // Of equal scores the older entry stays, and what is not a number is the least. Otherwise (tile 2, kept 1) the
    // left entry stays if left > right holds, and else the right one.
    bool ties_keep_older = false;
};

// One list's part of a plan: eight words of 32 bits. Offsets count words from the beginning of the plan, which is
// ListPlan [kv_heads] and what these point to; lists may point to the same words.
struct ListPlan {
    uint32_t size = 0;    // ranks, the step's own and pinned ones included
    uint32_t leaving = 0; // entries that leave; 0: nothing below is read
    uint32_t first = 0;   // Lowest: candidate; Tiles: entry where place 0 begins
    uint32_t end = 0;     // Lowest: of the candidates
    uint32_t data = 0; // Given: `leaving` entries, ascending; Tiles: tile after tile, `tile` places each, ascending
    uint32_t waves = 0;     // Tiles: how many waves; tiles of one wave share no place
    uint32_t wave_ends = 0; // Tiles: [waves] tiles up to the end of each wave
    uint32_t given = 0;     // 1: as SelectRule::Given, whatever the rule
};
static_assert(sizeof(ListPlan) == 32);

// Selects, and takes what leaves out of statistics, order lists and ranks of pinned tokens. Keys and values stay
// where they are.
struct EvictArgs {
    int32_t kv_heads = 0;
    const uint32_t* plan = nullptr; // ListPlan [kv_heads] and their data
    int64_t most_size = 0;          // of a list, at most
    int64_t most_leaving = 0;       // of a list, at most
    SelectionRule rule;
    ListStatistics statistics; // sum null: none
    PinnedRanks pinned{};      // `ranks` are afterwards those among what stays
    uint32_t* order = nullptr; // [kv_heads, order_stride] as in KvLists, after a token; null after a chunk
    int64_t order_stride = 0;
    uint32_t* dropped = nullptr; // out [kv_heads, dropped_stride] ranks that leave, ascending
    int64_t dropped_stride = 0;
    uint32_t* kept = nullptr; // out [kv_heads, kept_stride] ranks that stay, ascending; or null
    int64_t kept_stride = 0;
};

} // namespace palimpsest::kernels
