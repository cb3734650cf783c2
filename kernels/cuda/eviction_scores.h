// Scores of entries, and scores as numbers that compare as whole numbers do. Double precision, each operation
// rounded once: the bits are those of the policies (engine/policy/score.h, shaping.h).
#pragma once

#include "kernels/cuda/pinned_ranks.h"

namespace palimpsest::kernels::cuda {

// Before it is pooled; 0 without a rule.
__device__ inline double raw_score(const EvictArgs& args, int64_t head, int64_t entry)
{
    if (args.rule.score == ScoreRule::None) return 0;
    const int64_t at = head * args.statistics.stride + rank_of_entry(args.pinned, head, entry);
    switch (args.rule.score) {
    case ScoreRule::Mean:
        return __ddiv_rn(args.statistics.sum[at], args.statistics.count[at]);
    case ScoreRule::Total:
        return args.statistics.sum[at];
    case ScoreRule::FewLow:
        return -args.statistics.sum[at];
    default:
        return 0;
    }
}

// Ascends with the score: zeros of both signs are equal, what is not a number is minus infinity.
__device__ inline uint64_t score_key(double score)
{
    constexpr uint64_t sign = uint64_t{1} << 63, minus_infinity = uint64_t{0xfff} << 52;
    auto bits = static_cast<uint64_t>(__double_as_longlong(score));
    if (score != score) bits = minus_infinity;
    if (score == 0) bits = 0;
    return bits & sign ? ~bits : bits | sign;
}

// Whether scores of single ranks are not what is compared.
inline __host__ __device__ bool is_shaped(const SelectionRule& rule)
{
    return rule.layer_mean || rule.pooling != PoolRule::None;
}

// Which list's keys a list is compared by.
inline __host__ __device__ int64_t list_of_keys(const SelectionRule& rule, int64_t head)
{
    return rule.layer_mean ? 0 : head;
}

// keys [kv_heads, stride]: of the shaped scores of entries [0, end) of every list that SelectRule::Lowest looks at.
void score_ranks(const EvictArgs& args, uint64_t* keys, int64_t stride, CudaContext& context);

} // namespace palimpsest::kernels::cuda
