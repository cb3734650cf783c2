// What the weights of one token's attention tell a policy (policies.md, 3.1).
#pragma once

#include "kernels/cuda/page_retrieval.h"

namespace palimpsest::kernels::cuda {

inline constexpr int32_t split_ranks = 128; // ranks, of those read, that one block of decode attention takes

// Softmax weights as decode attention leaves them: what rank i (of those read) of a head has is
// weights[head][i] * shares[head / group][i / split_ranks][head % group].
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

inline bool wants_anything(const SignalRequest& wanted)
{
    return wanted.rows > 0 && (wanted.sums || wanted.low_counts || wanted.entropies || wanted.head_sums ||
                               wanted.head_squares || wanted.row_statistic != RowStatistic::None);
}

// `used`: on the device what args.lists.used is on the host, or less.
void decode_signals(const DecodeAttendArgs& args, const int32_t* used, const ReadRanks& read,
                    const DecodedWeights& weights, CudaContext& context);

} // namespace palimpsest::kernels::cuda
