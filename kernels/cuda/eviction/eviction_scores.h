// Scores of entries, and sort keys that compare as unsigned integers in the order of the scores. Double precision,
// each operation rounded once: the bits match those of the CPU (engine/policy/signals/score.h, pooling.h).
#pragma once

#include "kernels/cuda/eviction/pinned_ranks.h"

namespace palimpsest::kernels::cuda {

// The score before pooling; 0 without a score rule.
__device__ inline double raw_score(const EvictArgs& args, int64_t head, int64_t entry)
{
    if (args.rule.score == ScoreRule::None) return 0;
    const int64_t at = head * args.statistics.stride + rank_of_entry(args.pinned, head, entry);
    switch (args.rule.score) {
    case ScoreRule::Mean:
        return __ddiv_rn(args.statistics.sum[at], args.statistics.count[at]);
    case ScoreRule::Total:
        return args.statistics.sum[at];
    case ScoreRule::Negative:
        return -args.statistics.sum[at];
    default:
        return 0;
    }
}

// Ascends with the score: both zeros are equal, NaN counts as minus infinity.
__device__ inline uint64_t score_key(double score)
{
    constexpr uint64_t sign = uint64_t{1} << 63, minus_infinity = uint64_t{0xfff} << 52;
    auto bits = static_cast<uint64_t>(__double_as_longlong(score));
    if (score != score) bits = minus_infinity;
    if (score == 0) bits = 0;
    return bits & sign ? ~bits : bits | sign;
}

// True if scores are pooled or averaged over the layer before they are compared.
inline __host__ __device__ bool is_shaped(const SelectionRule& rule)
{
    return rule.layer_mean || rule.pooling != PoolRule::None;
}

// The list whose sort keys a list uses: with layer_mean, all use those of list 0.
inline __host__ __device__ int64_t list_of_keys(const SelectionRule& rule, int64_t head)
{
    return rule.layer_mean ? 0 : head;
}

// Computes sort keys [kv_heads, stride] from the shaped scores of entries [0, end), for every list that uses
// SelectRule::Lowest.
void score_entries(const EvictArgs& args, uint64_t* keys, int64_t stride, CudaContext& context);

} // namespace palimpsest::kernels::cuda
