// The part of a list that a token attends to: pages by the bounds of their keys ("Quest", Tang et al. 2024), then
// ranks by the mass of attention they hold ("Twilight", Lin et al. 2025).
#pragma once

#include <cstdint>

#include "kernels/backend.h"
#include "kernels/cuda/cuda_context.h"

namespace palimpsest::kernels::cuda {

// How much of a list of `used` ranks and a new one is read.
struct ReadPlan {
    bool retrieves = false;
    int32_t tokens = 0, page = 1;
    int32_t others = 0; // pages beside the last
    int32_t window = 0; // > 0: only this many of the newest ranks are seen; REQUIRES: not together with retrieval

    // Of a list that is read whole: the first rank that is seen, and how many are.
    __host__ __device__ int32_t first(int32_t used) const
    {
        return window > 0 && used >= window ? used + 1 - window : 0;
    }
    __host__ __device__ int32_t seen(int32_t used) const { return used + 1 - first(used); }

    __host__ __device__ int32_t last_page(int32_t used) const { return used / page; }
    __host__ __device__ bool whole(int32_t used) const
    {
        return !retrieves || used < tokens || last_page(used) <= others;
    }
    __host__ __device__ int32_t count(int32_t used) const
    {
        return whole(used) ? seen(used) : used + 1 - (last_page(used) - others) * page;
    }
    // The most that is read of any list of up to `used`: a longer one may be read in part where this one is whole.
    int32_t most_count(int32_t used) const
    {
        if (whole(used)) return seen(used);
        return tokens > (others + 1) * page ? tokens : (others + 1) * page;
    }
};

ReadPlan read_plan(const DecodeAttendArgs& args);

// Ranks that are read of the lists that are not read whole, ascending. Device memory, good until the next call.
struct ReadRanks {
    const uint32_t* ranks = nullptr; // [kv_heads, stride]; null: all lists are read whole
    int64_t stride = 0;
};

// `args.lists.used` is host memory as in backend.h; `used`, on the device, the same or less.
ReadRanks choose_ranks(const DecodeAttendArgs& args, const int32_t* used, CudaContext& context);

// Of every query head, from logits over log 2 to softmax weights with the largest 1, zero for ranks beyond the
// smallest best-first set that holds `share` of their sum (ties: the lower rank; >= share - 1e-12).
struct TopMass {
    float* weights = nullptr; // [query_heads, stride], in the order of what is read
    int64_t stride = 0;
    const int32_t* used = nullptr; // device [kv_heads]
    ReadPlan plan;
    int32_t query_heads = 0, group = 1;
    double share = 1;
};

void keep_top_mass(const TopMass& args, CudaContext& context);

} // namespace palimpsest::kernels::cuda
