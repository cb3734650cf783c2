// Selection by a whole block with a radix select: 8 bits of the key per pass, so four passes over the items for a
// 32-bit key instead of 32 (lowest_ranks.h: up to eight passes for a 64-bit key).
#pragma once

#include "kernels/cuda/device/block_select.h"

namespace palimpsest::kernels::cuda {

inline constexpr int digit_bits = 8, digits = 1 << digit_bits;

// Counts this lane's digit if `counted`; all lanes of the warp call together. Leading digits are almost all the
// same, so lanes that agree with the first counted lane share one atomic addition.
__device__ inline void count_digit(bool counted, uint32_t digit, uint32_t* counts)
{
    const unsigned among = __ballot_sync(all_lanes, counted);
    if (among == 0) return;
    const int first = __ffs(static_cast<int>(among)) - 1;
    const uint32_t common = __shfl_sync(all_lanes, digit, first);
    const unsigned agree = __ballot_sync(all_lanes, counted && digit == common);
    if (static_cast<int>(threadIdx.x) % warp_lanes == first)
        atomicAdd(counts + common, static_cast<uint32_t>(__popc(agree)));
    else if (counted && digit != common)
        atomicAdd(counts + digit, 1u);
}

// Inclusive suffix sum: this thread's value and those of all threads after it, in a fixed order. REQUIRES: a block
// of `threads`.
template<int threads, class T>
__device__ inline T block_sum_from(T x)
{
    __shared__ T sums[2][threads];
    const auto self = static_cast<int>(threadIdx.x);
    int at = 0;
    sums[at][self] = x;
    __syncthreads();
    for (int reach = 1; reach < threads; reach *= 2, at ^= 1) {
        sums[at ^ 1][self] = sums[at][self] + (self + reach < threads ? sums[at][self + reach] : T{});
        __syncthreads();
    }
    const T sum = sums[at][self];
    __syncthreads(); // the next call writes the same memory
    return sum;
}

// The leading digits of the key that is searched for, and the sum of all items with greater leading digits.
template<class T>
struct Edge {
    uint32_t key = 0, mask = 0;
    T above{};
};

// Appends to the edge the largest digit d for which the items with digits >= d, and those above the edge, sum up
// to at least `needed`; 0 if there is none. `amount` is the sum of the items whose digit is threadIdx.x. REQUIRES:
// a block of 256 threads.
template<class T>
__device__ inline void append_digit(Edge<T>& edge, int shift, T amount, T needed)
{
    __shared__ uint32_t digit;
    __shared__ T above;
    const auto self = static_cast<uint32_t>(threadIdx.x);
    const T from = block_sum_from<digits>(amount);
    if (self == 0) digit = 0;
    __syncthreads();
    // Rounded sums need not be monotonic, so several digits may satisfy this: the largest wins.
    if (edge.above + from >= needed) atomicMax(&digit, self);
    __syncthreads();
    if (digit == self) above = from - amount;
    __syncthreads();
    edge.key |= digit << shift;
    edge.mask |= static_cast<uint32_t>(digits - 1) << shift;
    edge.above += above;
    __syncthreads(); // the next call writes the same memory
}

// Returns the key of the `wanted`-th largest of `count` items, and the number of items above it. REQUIRES: a block
// of 256 threads, wanted > 0.
template<class KeyOf>
__device__ inline Edge<uint32_t> find_largest(int32_t count, uint32_t wanted, const KeyOf& key_of)
{
    __shared__ uint32_t counts[digits];
    Edge<uint32_t> edge;
    for (int shift = 32 - digit_bits; shift >= 0; shift -= digit_bits) {
        counts[threadIdx.x] = 0;
        __syncthreads();
        for (int32_t tile = 0; tile < count; tile += digits) {
            const int32_t i = tile + static_cast<int32_t>(threadIdx.x);
            const uint32_t key = i < count ? key_of(i) : 0;
            count_digit(i < count && (key & edge.mask) == edge.key, key >> shift & (digits - 1), counts);
        }
        __syncthreads();
        append_digit(edge, shift, counts[threadIdx.x], wanted);
    }
    return edge;
}

} // namespace palimpsest::kernels::cuda
