// Selects the candidates of a list with the lowest scores, with one block: by a radix select over their sort
// keys or, if a single one is evicted, in one pass. Ties keep the older token.
#pragma once

#include "kernels/cuda/device/radix_select.h"
#include "kernels/cuda/eviction/evicted_ranks.h"
#include "kernels/cuda/eviction/eviction_scores.h"

namespace palimpsest::kernels::cuda {

template<int threads>
class LowestRanks {
public:
    // Evicts `evicted` of the candidates [first, end).
    __device__ LowestRanks(uint32_t first, uint32_t end, uint32_t evicted)
        : first_(first), end_(end), evicted_(evicted)
    {
    }

    // Marks the lowest candidate. key_of(entry): the sort key of its score.
    template<class KeyOf>
    __device__ void mark_one(const KeyOf& key_of, const EvictedRanks<threads>& to) const
    {
        Candidate lowest{~uint64_t{0}, 0};
        for (uint32_t entry = first_ + threadIdx.x; entry < end_; entry += threads) // later entries are newer
            if (const uint64_t key = key_of(entry); key <= lowest.key) lowest = {key, entry};
        lowest = block_reduce<threads>(lowest, [](const Candidate& a, const Candidate& b) {
            return a.key != b.key ? (a.key < b.key ? a : b) : (a.entry > b.entry ? a : b);
        });
        if (threadIdx.x == 0) to.mark(lowest.entry);
    }

    // Marks the `evicted` lowest. keys [end]; `ties` [words of the list]: memory for the block. REQUIRES: more
    // than one is evicted, `to` is cleared.
    __device__ void mark(const uint64_t* keys, const EvictedRanks<threads>& to, uint32_t* ties) const
    {
        const Bound bound = find_bound(keys);
        put_words(keys, bound, to, ties);
        __syncthreads();
        if (bound.evicted == bound.ties) return;
        count_bits_before<threads>(ties, to.word_count(), to.before);
        for (uint32_t w = threadIdx.x; w < to.word_count(); w += threads)
            to.words[w] |= without_lowest(ties[w], bound.ties - bound.evicted, to.before[w]);
    }

private:
    static constexpr uint32_t word_bits = EvictedRanks<threads>::word_bits;
    static_assert(threads >= digits);

    struct Candidate {
        uint64_t key;
        uint32_t entry;
    };
    // A candidate is evicted if the leading digits of its key are below `key`; of the `ties` that are equal to it,
    // the newest `evicted` are.
    struct Bound {
        uint64_t key = 0, mask = 0; // of the leading digits
        uint32_t evicted = 0, ties = 0;
    };

    __device__ Bound find_bound(const uint64_t* keys) const
    {
        __shared__ uint32_t counts[digits];
        __shared__ uint32_t digit, below, equal;
        Bound bound;
        bound.evicted = evicted_;
        for (int shift = 64 - digit_bits; shift >= 0 && bound.ties != bound.evicted; shift -= digit_bits) {
            if (threadIdx.x < digits) counts[threadIdx.x] = 0;
            __syncthreads();
            count_digits(keys, bound, shift, counts);
            __syncthreads();
            const uint32_t count = threadIdx.x < digits ? counts[threadIdx.x] : 0;
            const uint32_t before = block_sum_before<threads>(count);
            if (before < bound.evicted && bound.evicted <= before + count) {
                digit = threadIdx.x;
                below = before;
                equal = count;
            }
            __syncthreads();
            bound.key |= static_cast<uint64_t>(digit) << shift;
            bound.mask |= static_cast<uint64_t>(digits - 1) << shift;
            bound.evicted -= below;
            bound.ties = equal;
        }
        return bound;
    }

    // Counts how often each digit occurs among the candidates that have the bound's leading digits.
    __device__ void count_digits(const uint64_t* keys, const Bound& bound, int shift, uint32_t* counts) const
    {
        for (uint32_t tile = first_; tile < end_; tile += threads) {
            const uint32_t rank = tile + threadIdx.x;
            const uint64_t key = rank < end_ ? keys[rank] : 0;
            const bool counted = rank < end_ && (key & bound.mask) == bound.key;
            count_digit(counted, static_cast<uint32_t>(key >> shift) % digits, counts);
        }
    }

    // Writes the words of all evicted candidates without the ties, and the words of the ties; if all ties are
    // evicted, the former include them.
    __device__ void put_words(const uint64_t* keys, const Bound& bound, const EvictedRanks<threads>& to,
                              uint32_t* ties) const
    {
        constexpr uint32_t warps = threads / warp_lanes;
        const bool with_ties = bound.evicted == bound.ties;
        const uint32_t lane = threadIdx.x % warp_lanes;
        for (uint32_t w = threadIdx.x / warp_lanes; w < to.word_count(); w += warps) {
            const uint32_t rank = w * word_bits + lane;
            const bool candidate = rank >= first_ && rank < end_;
            const uint64_t key = candidate ? keys[rank] & bound.mask : 0;
            const bool tie = candidate && key == bound.key;
            const unsigned below = __ballot_sync(all_lanes, candidate && key < bound.key);
            const unsigned equal = __ballot_sync(all_lanes, tie);
            if (lane != 0) continue;
            to.words[w] = with_ties ? below | equal : below;
            ties[w] = equal;
        }
    }

    // Returns `bits` without those among the lowest `count` of the list; `before` bits of the list are below this
    // word.
    __device__ static uint32_t without_lowest(uint32_t bits, uint32_t count, uint32_t before)
    {
        for (; before < count && bits != 0; ++before)
            bits &= bits - 1;
        return bits;
    }

    uint32_t first_, end_, evicted_;
};

} // namespace palimpsest::kernels::cuda
