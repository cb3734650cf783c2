// The signals that a policy accumulates from attention, row by row over the whole list.
#pragma once

#include <cstdint>
#include <vector>

#include "tests/support/reference_settings.h"

namespace palimpsest::tests {

struct ReferenceMoments {
    double sum = 0, squares = 0; // of the attention received
};

struct ReferenceEntry {
    uint32_t stream = 0;
    double sum =
        0; // attention received (mean over the query group), the number of rows that gave little, or a norm
    double count = 0;
    std::vector<ReferenceMoments> moments{}; // per query head, if the policy uses them
    int level = 0;                           // height or level in a tree of merges
};

using ReferenceList = std::vector<ReferenceEntry>;

// A[g][r][j]: attention of query head g of the group, chunk row r, on entry j. Entries that a row does not attend
// to are 0.
using Attention = std::vector<std::vector<std::vector<double>>>;

// What one chunk shows of a layer besides the statistics of the lists.
struct ReferenceObservation {
    int rows = 0;                                 // b
    double row_statistic = 0;                     // mean over the counted rows and all query heads
    double rounding = 0;                          // by how much rounding at the sparsity's threshold may change it
    std::vector<std::vector<double>> entropies{}; // per KV head and entry: sum of -A ln(A + 1e-10)
};

// Computes the signals of one list while one chunk is computed.
class ReferenceSignals {
public:
    // `list` ends with the chunk's own entries, whose statistics are 0. The constructor decays the statistics of
    // the others.
    ReferenceSignals(const ReferenceSettings& settings, ReferenceList list, int chunk_rows, int group);
    // Adds the attention of row r, [group][n]; only the first n - b + r + 1 entries count, with b rows in the
    // chunk.
    void add_row(int r, std::vector<std::vector<double>> heads);
    void add(const Attention& attention); // all rows
    // Sets the norm of an entry's key, for policies that score keys.
    void set_key(size_t entry, const std::vector<double>& key);
    // Sets the similarity of every key to the mean of all, likewise.
    void set_keys(const std::vector<std::vector<double>>& keys);

    const ReferenceList& list() const { return list_; }
    // The sum of the row statistic over the counted rows and the group's query heads.
    double row_statistics() const { return row_statistics_; }
    // An upper bound of the rounding error of row_statistics() for sparsity, the share of the v visible entries
    // that receive at least 1/v. An entry that receives 1/v up to rounding may be counted or not, which is a change
    // of 1/v.
    double rounding_margin() const { return rounding_margin_; }
    int counted_rows() const { return counted_; }
    const std::vector<double>& entropies() const { return entropies_; }
    // In how many rows the entry received 1/v up to rounding, so that f32 may count it differently; v: visible
    // entries.
    int close_calls(size_t entry) const { return close_calls_.at(entry); }

private:
    void add_low(const std::vector<std::vector<double>>& heads, int visible);
    void add_moments(const std::vector<std::vector<double>>& heads, int visible);

    ReferenceSettings settings_;
    ReferenceList list_;
    int rows_, group_, counted_;
    double row_statistics_ = 0, rounding_margin_ = 0;
    std::vector<double> entropies_;
    std::vector<int> close_calls_;
};

// One layer's observation from the signals of its KV heads.
ReferenceObservation observation_of(const std::vector<ReferenceSignals>& heads, int rows, int group);

// Measures how evenly a row is distributed over its visible entries: entropy, gini or sparsity.
double row_statistic(const std::string& kind, std::vector<double> row);

// Score of one entry, as ReferenceSettings::score says.
double score_of(const ReferenceSettings& settings, const ReferenceEntry& entry);
double variance_over_rows(const ReferenceMoments& moments, double count); // unbiased; 0 for one row

} // namespace palimpsest::tests
