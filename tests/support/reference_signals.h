// What a policy remembers of attention (policies.md, 3.1), row by row over the whole list.
#pragma once

#include <cstdint>
#include <vector>

#include "tests/support/reference_settings.h"

namespace palimpsest::tests {

struct ReferenceMoments {
    double sum = 0, squares = 0; // of what the entry received
};

struct ReferenceEntry {
    uint32_t stream = 0;
    double sum = 0; // received, mean over the group's query heads; or rows that gave it little
    double count = 0;
    std::vector<ReferenceMoments> moments{}; // per query head, for policies that ask for them
    int level = 0;                           // height or level in a tree of merges
};

using ReferenceList = std::vector<ReferenceEntry>;

// A[g][r][j]: attention of query head g of the group, chunk row r, on entry j. Entries a row does not see are 0.
using Attention = std::vector<std::vector<std::vector<double>>>;

// What one chunk showed of a layer beside what lists accumulate.
struct ReferenceObservation {
    int rows = 0;                                 // b
    double row_statistic = 0;                     // mean over the counted rows and all query heads
    double rounding = 0;                          // how much of it entries on the edge of being counted may change
    std::vector<std::vector<double>> entropies{}; // per KV head and entry: sum of -A ln(A + 1e-10)
};

// One list through one chunk.
class ReferenceSignals {
public:
    // `list` ends with the chunk's own entries, whose statistics are 0; what came before fades here.
    ReferenceSignals(const ReferenceSettings& settings, ReferenceList list, int chunk_rows, int group);
    // Row r as every query head of the group sees it: [group][n], of which n - b + r + 1 count.
    void add_row(int r, std::vector<std::vector<double>> heads);
    void add(const Attention& attention); // all rows

    const ReferenceList& list() const { return list_; }
    double row_statistics() const { return row_statistics_; } // sum over counted rows and the group
    double edges() const { return edges_; } // of density: what entries at 1/v but for rounding are worth in it
    int counted_rows() const { return counted_; }
    const std::vector<double>& entropies() const { return entropies_; }
    // Rows in which the entry received its uniform share but for rounding, so that f32 may count it otherwise.
    int close_calls(size_t entry) const { return close_calls_.at(entry); }

private:
    void add_low(const std::vector<std::vector<double>>& heads, int visible);
    void add_moments(const std::vector<std::vector<double>>& heads, int visible);

    ReferenceSettings settings_;
    ReferenceList list_;
    int rows_, group_, counted_;
    double row_statistics_ = 0, edges_ = 0;
    std::vector<double> entropies_;
    std::vector<int> close_calls_;
};

// One layer's observation from the signals of its KV heads.
ReferenceObservation observation_of(const std::vector<ReferenceSignals>& heads, int rows, int group);

// How spread out a row over its visible entries is (4.7): entropy, gini or sparsity.
double row_statistic(const std::string& kind, std::vector<double> row);

// Derived scores of one entry (3.1) by ReferenceSettings::score.
double score_of(const ReferenceSettings& settings, const ReferenceEntry& entry);
double variance_over_rows(const ReferenceMoments& moments, double count); // unbiased; 0 for one row

} // namespace palimpsest::tests
