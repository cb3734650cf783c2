// The ranks that an eviction step drops from a list. The block that selects them marks them in any order; `put`
// lists them ascending. All threads of the block must call each function, except mark, contains and evicted_before.
#pragma once

#include "kernels/cuda/device/block_select.h"

namespace palimpsest::kernels::cuda {

// before[w]: the number of bits set in the words below w.
template<int threads>
__device__ inline void count_bits_before(const uint32_t* words, uint32_t count, uint32_t* before)
{
    uint32_t sum = 0;
    for (uint32_t tile = 0; tile < count; tile += threads) {
        const uint32_t w = tile + threadIdx.x;
        uint32_t of_tile = 0;
        const uint32_t bits = w < count ? static_cast<uint32_t>(__popc(words[w])) : 0;
        const uint32_t before_word = sum + block_sum_before<threads>(bits, &of_tile);
        if (w < count) before[w] = before_word;
        sum += of_tile;
    }
}

template<int threads>
struct EvictedRanks {
    static constexpr uint32_t word_bits = 32;

    uint32_t* words;  // one bit per rank; not used if a single rank is evicted
    uint32_t* before; // [words] from count_bits_before
    uint32_t* single; // in shared memory: the rank, if only one is evicted
    uint32_t count, size;

    __device__ uint32_t word_count() const { return (size + word_bits - 1) / word_bits; }
    __device__ void clear() const
    {
        if (count == 1) return;
        for (uint32_t w = threadIdx.x; w < word_count(); w += threads)
            words[w] = 0;
    }
    __device__ void mark(uint32_t rank) const
    {
        if (count == 1)
            *single = rank;
        else
            atomicOr(words + rank / word_bits, 1u << rank % word_bits);
    }
    // Writes the marked ranks ascending. REQUIRES: a __syncthreads() since the last mark.
    __device__ void put(uint32_t* ranks) const
    {
        if (count == 1) {
            if (threadIdx.x == 0) ranks[0] = *single;
            return;
        }
        count_bits_before<threads>(words, word_count(), before);
        for (uint32_t w = threadIdx.x; w < word_count(); w += threads) {
            uint32_t at = before[w];
            for (uint32_t bits = words[w]; bits != 0; bits &= bits - 1)
                ranks[at++] = w * word_bits + static_cast<uint32_t>(__ffs(static_cast<int>(bits))) - 1;
        }
    }

    // REQUIRES, for both: a __syncthreads() since put.
    __device__ bool contains(uint32_t rank) const
    {
        return count == 1 ? rank == *single : words[rank / word_bits] >> rank % word_bits & 1;
    }
    __device__ uint32_t evicted_before(uint32_t rank) const
    {
        if (count == 1) return rank > *single ? 1 : 0;
        const uint32_t below = words[rank / word_bits] & ((1u << rank % word_bits) - 1);
        return before[rank / word_bits] + static_cast<uint32_t>(__popc(below));
    }
};

} // namespace palimpsest::kernels::cuda
