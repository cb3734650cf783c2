// Signals that a policy gets from the attention weights of one decoded token (docs/policies-spec.md).
#pragma once

#include "kernels/cuda/attention/page_retrieval.h"

namespace palimpsest::kernels::cuda {

// A split is 64 of the ranks that are read. If a list has more than 16 splits, every 16 form a bundle, which is
// combined first.
inline constexpr int32_t split_ranks = 64, bundle_splits = 16;

inline int64_t bundles_of(int64_t splits)
{
    return (splits + bundle_splits - 1) / bundle_splits;
}

// The number of floats in the partial results of all splits and bundles: for each query head a sum of values, a row
// maximum and a softmax denominator.
inline int64_t partial_floats(int64_t query_heads, int64_t splits, int64_t head_dim)
{
    return query_heads * (splits + bundles_of(splits)) * (head_dim + 2);
}

// The number of tickets: for each KV head one per bundle and one for the whole head, rounded up so that the scratch
// is seldom reallocated.
inline int64_t ticket_count(int64_t kv_heads, int64_t splits)
{
    constexpr int64_t step = 1024;
    return (kv_heads * (bundles_of(splits) + 1) + step - 1) / step * step;
}

// Softmax weights as decode attention stores them. Query head h gives the i-th rank that is read the weight
// weights[h][i] * shares[h / group][i / split_ranks][h % group].
struct DecodedWeights {
    const float* weights = nullptr; // [query_heads, stride]
    int64_t stride = 0;
    const float* shares = nullptr; // [kv_heads, splits, group]; null: 1
    int32_t splits = 0;

    __device__ float at(int32_t kv_head, int32_t g, int32_t group, int32_t i) const
    {
        const float weight = weights[(static_cast<int64_t>(kv_head) * group + g) * stride + i];
        if (!shares) return weight;
        return weight * shares[(static_cast<int64_t>(kv_head) * splits + i / split_ranks) * group + g];
    }
};

inline bool wants_signals(const SignalRequest& wanted)
{
    return wanted.rows > 0 && (wanted.sums || wanted.low_counts || wanted.entropies || wanted.head_sums ||
                               wanted.head_squares || wanted.row_statistic != RowStatistic::None);
}

// `used`: device memory [kv_heads], the list lengths when this runs; args.lists.used (host) are upper bounds.
void decode_signals(const DecodeAttendArgs& args, const int32_t* used, const ReadRanks& read,
                    const DecodedWeights& weights, CudaContext& context);

} // namespace palimpsest::kernels::cuda
