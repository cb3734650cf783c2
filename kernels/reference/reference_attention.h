// Attention as a textbook has it, in float64 and with one rotation per key: what the tests hold every backend to.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/backend.h"

namespace palimpsest::kernels {

// All pointers are host memory. Query row r of head h attends to ranks 0 .. used[h] + r of its KV head, or to the
// newest `window` of them.
struct ReferenceAttentionArgs {
    HeadShape shape;
    const float* qkv = nullptr; // [rows, qkv_width]; only the queries are read
    int32_t rows = 0;
    std::vector<int32_t> used;               // [kv_heads]: ranks before row 0's own token
    std::vector<std::vector<double>> keys;   // [kv_heads][(used + rows) * head_dim], as stored, in rank order
    std::vector<std::vector<double>> values; // the same shape
    Rotation rotation;
    SignalRequest signals; // what is null is not computed; outputs go to ReferenceAttention
    // Bounds are not read: those of whole pages are taken from the keys. Only for one row.
    PageRetrieval retrieval;
    bool retrieve = false;
    int32_t window = 0; // as in AttendArgs
};

struct ReferenceAttention {
    std::vector<double> out;                               // [rows, query_heads * head_dim]
    std::vector<std::vector<std::vector<double>>> weights; // probabilities [query_heads][rows][used + rows]
    // As SignalRequest says, of the wanted rows; [kv_heads] or [query_heads][used + rows].
    std::vector<std::vector<double>> sums, low_counts, entropies, head_sums, head_squares;
    std::vector<double> row_statistics;       // [query_heads]
    std::vector<std::vector<uint32_t>> pages; // [kv_heads]: those read, ascending; empty without retrieval
    // How many of the counts above another rounding may decide otherwise, in their units.
    std::vector<std::vector<double>> low_ties; // [kv_heads][used + rows]
    std::vector<double> density_ties;          // [query_heads]
    // How near retrieval came to another choice: the smallest relative distance of two pages' bounds or two ranks'
    // probabilities at an edge, or of a mass from top_p.
    double margin = 1e300;
};

ReferenceAttention reference_attention(const ReferenceAttentionArgs& args);

// x[0, rotary_dim) turned by row `position` of the table; pairs are (i, i + rotary_dim / 2).
void reference_rotate(const RopeTable& table, int64_t position, double* x);

} // namespace palimpsest::kernels
