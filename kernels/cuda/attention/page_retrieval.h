// Selects the part of a list that a token attends to: retrieval pages by the bounds of their keys ("Quest", Tang
// et al. 2024), then ranks by attention mass ("Twilight", Lin et al. 2025).
#pragma once

#include <cstdint>

#include "kernels/backend.h"
#include "kernels/cuda/device/cuda_context.h"

namespace palimpsest::kernels::cuda {

// Which ranks a token reads of a list that holds `used` ranks before it; the new token adds one.
struct ReadPlan {
    bool retrieves = false;
    int32_t tokens = 0, page = 1;
    int32_t others = 0; // retrieval pages besides the last
    int32_t window = 0; // > 0: sees only this many newest ranks; REQUIRES: no retrieval

    // For a list that is read whole: first() is the first visible rank, seen() the number of visible ranks, that of
    // the new token included.
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
    // The largest count() of all lists of up to `used` ranks: a shorter list that is read whole may read more ranks
    // than count(used).
    int32_t most_count(int32_t used) const
    {
        if (whole(used)) return seen(used);
        return tokens > (others + 1) * page ? tokens : (others + 1) * page;
    }
};

ReadPlan read_plan(const DecodeAttendArgs& args);

// The ranks to read, ascending, for lists that are not read whole. Device memory, valid until the next
// choose_ranks().
struct ReadRanks {
    const uint32_t* ranks = nullptr; // [kv_heads, stride]; null: all lists are read whole
    int64_t stride = 0;
};

// `args.lists.used` is host memory as in backend.h; `used`, on the device, has the same values or smaller ones.
ReadRanks choose_ranks(const DecodeAttendArgs& args, const int32_t* used, CudaContext& context);

// For every query head: turns logits, which are multiplied by log2(e), into softmax weights scaled so that the
// largest is 1. Keeps the fewest largest weights whose sum is at least (share - 1e-12) of the total (ties: the
// lower rank), and sets the others to zero.
struct TopMass {
    float* weights = nullptr; // [query_heads, stride], column i: the i-th rank that is read
    int64_t stride = 0;
    const int32_t* used = nullptr; // device [kv_heads]
    ReadPlan plan;
    int32_t query_heads = 0, group = 1;
    double share = 1;
};

void keep_top_mass(const TopMass& args, CudaContext& context);

} // namespace palimpsest::kernels::cuda
