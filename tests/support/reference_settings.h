// Every policy parameter of docs/policies-spec.md, with its default.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "engine/policy/policy_spec.h"

namespace palimpsest::tests {

// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): members are grouped by policy
struct ReferenceSettings {
    static constexpr int all_queries = std::numeric_limits<int>::max();

    // REQUIRES: settings that make_policy accepts. `budget`: c without pinned tokens.
    ReferenceSettings(const engine::PolicySpec& spec, int layers, int budget);

    std::string name;
    int c = 0, s = 0, w = 0;
    int selectable() const { return c - s - w; } // m

    int excess = 1;    // schedule=every:N
    bool once = false; // schedule=once

    int window = 0;          // omega; 0: no signal
    double rows_percent = 0; // > 0: omega is this percentage of the list
    int omega(int list) const;
    bool low_counts = false;
    bool key_norms = false;
    bool key_similarities = false;
    bool moments = false;
    bool renormalise = false;  // by the attention outside the newest w
    std::string row_statistic; // entropy, gini, sparsity, or empty

    std::string budgets = "uniform"; // uniform, linear, geometric, exponential, observed, cake, auto
    double beta = 20;
    double threshold = 0.01;
    bool shared_by_heads = false;
    double floor = 0.2;

    std::string score = "mean"; // of an entry: mean, sum, low (its sum, negated), spread (mean and variance)
    bool layer_mean = false;    // of the score, over KV heads
    std::string pooling = "none";
    int kernel = 1;
    double gamma = 200, tau1 = 1, tau2 = 1;

    uint64_t seed = 0;                      // random
    bool nested = false;                    // pyramidkv
    double drop = 0;                        // scissorhands
    bool keep_left = false;                 // trees
    int height = 0, unit = 16;              // of trees; height 0: no limit
    int step = 1, tile = 1, tile_keeps = 1; // lacache: step, T, K
    std::string pattern = "stacked", survivors = "offsets";
    int block = 1;            // hbw-kv, chunkkv
    bool sums_blocks = false; // chunkkv: a block is scored by the sum of its entries, not their mean
    std::vector<int> rounds = {1, 8};
    std::string representative = "none";
    int full_layers = 2; // refreekv
    bool ranked_by_score = false;
    // Norm: the root of a sum of squares over entries (docs/policies-spec.md, refreekv).
    bool norm_of_mean = false;      // of the attention averaged over the layer's heads; otherwise one norm per head
    bool norm_of_scores = false;    // one norm, of the scores of all lists of the layer
    int mask_sinks = 4;             // refreekv and budget=auto
    int least = 0;                  // the fewest entries to keep, whatever the norms are
    double p = 0.85;                // top-p of twilight and twilight-evict
    int page = 16, skip_layers = 2; // quest, twilight

    bool is_ladder() const { return name == "lacache" && pattern != "recent" && pattern != "old"; }
};

} // namespace palimpsest::tests
