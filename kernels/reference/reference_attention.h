// Textbook attention in float64, one rotation per key: the reference that the tests compare every backend with.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/backend.h"

namespace palimpsest::kernels {

// All pointers are host memory. Query row r of a head attends to ranks 0 .. used[h] + r of its KV head h, or to the
// newest `window` of them.
struct ReferenceAttentionArgs {
    HeadShape shape;
    const float* qkv = nullptr; // [rows, qkv_width]; the values are not read
    int32_t rows = 0;
    std::vector<int32_t> used;               // [kv_heads]: ranks before row 0's own token
    std::vector<std::vector<double>> keys;   // [kv_heads][(used + rows) * head_dim], as stored, in rank order
    std::vector<std::vector<double>> values; // the same shape
    Rotation rotation;
    SignalRequest signals; // selects the signals to compute; the outputs go to ReferenceAttention
    // The reference computes the bounds of retrieval pages from the keys, and does not read
    // `retrieval.pages.bounds`. REQUIRES: rows == 1 if `retrieve`.
    PageRetrieval retrieval;
    bool retrieve = false;
    int32_t window = 0; // as in AttendArgs
};

struct ReferenceAttention {
    std::vector<double> out;                               // [rows, query_heads * head_dim]
    std::vector<std::vector<std::vector<double>>> weights; // probabilities [query_heads][rows][used + rows]
    // As in SignalRequest, for the requested rows; [kv_heads] or [query_heads][used + rows].
    std::vector<std::vector<double>> sums, low_counts, entropies, head_sums, head_squares;
    std::vector<std::vector<double>> key_norms, key_similarities; // [kv_heads][used + rows], of all rows
    std::vector<double> row_statistics;                           // [query_heads]
    std::vector<std::vector<uint32_t>> pages; // [kv_heads]: pages read, ascending; empty without `retrieve`
    // By how much low_counts and the density statistic may differ with other rounding.
    std::vector<std::vector<double>> low_ties; // [kv_heads][used + rows]
    std::vector<double> density_ties;          // [query_heads]
    // How close retrieval came to a different choice: the smallest relative distance between two page bounds or two
    // probabilities at a cut-off, or between a mass and top_p.
    double margin = 1e300;
};

ReferenceAttention reference_attention(const ReferenceAttentionArgs& args);

// Rotates x[0, rotary_dim) by row `position` of the table; pairs are (i, i + rotary_dim / 2).
void reference_rotate(const RopeTable& table, int64_t position, double* x);

} // namespace palimpsest::kernels
