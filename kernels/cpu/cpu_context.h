// The context of every CPU kernel: the thread pool, and scratch memory that is kept between calls, so that
// steady-state calls allocate nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

#include "kernels/cpu/thread_pool.h"

namespace palimpsest::kernels {

// A 64-byte aligned block of memory that only grows. Growth discards its contents.
class Scratch {
public:
    template<class T>
    T* get(size_t count)
    {
        const size_t bytes = (count * sizeof(T) + 63) / 64 * 64;
        if (bytes > bytes_) {
            bytes_ = 0;
            data_.reset(static_cast<std::byte*>(std::aligned_alloc(64, bytes)));
            if (!data_) throw std::bad_alloc();
            bytes_ = bytes;
        }
        return static_cast<T*>(static_cast<void*>(data_.get()));
    }
    size_t bytes() const { return bytes_; }

private:
    struct Free {
        void operator()(std::byte* p) const { std::free(p); }
    };
    std::unique_ptr<std::byte, Free> data_;
    size_t bytes_ = 0;
};

// The purposes of scratch blocks: a kernel and the kernels that it calls use different ones at the same time.
enum class ScratchUse {
    NormedRows, // rows of a product's left operand, made by RowSource
    PackedRows, // gemm: packed rows of x; gemv: x in fixed point; attention, KV rows: queries, keys, values as f32
    PackedWeight, // unpacked blocks of a weight
    Hidden,       // of feed-forward layers; decode attention: outputs of segments
    Unfinished,   // products before their RowFinish; experts: rows of one expert
    Routing,      // experts: logits, weights and choices
    ExpertRows,   // the layer's input after the norm
    PackedKeys,   // prefill attention; defragment: the rows of a list
    PackedValues, // prefill attention
    Scores,       // logits and weights of attention
    Sums,         // gemv: group sums of x; decode attention: row maxima and denominators; signals
    PageScores,   // retrieval: scores and numbers of retrieval pages
    ReadRanks,    // retrieval: ranks and rows to read
    Count
};

struct CpuContext {
    explicit CpuContext(int thread_count, bool only_exact_products = false)
        : threads(thread_count), exact_products(only_exact_products), worker(static_cast<size_t>(thread_count))
    {
    }

    Scratch& shared_scratch(ScratchUse use) { return shared[use]; }
    // During a run, only worker `w` of the pool may access its scratch blocks.
    Scratch& worker_scratch(int w, ScratchUse use) { return worker[static_cast<size_t>(w)][use]; }
    // Allocates for every worker ahead of a run, because tasks must not throw.
    template<class T>
    void reserve(ScratchUse use, size_t count)
    {
        for (Blocks& blocks : worker)
            blocks[use].get<T>(count);
    }
    uint64_t scratch_bytes() const
    {
        uint64_t total = shared.bytes();
        for (const Blocks& blocks : worker)
            total += blocks.bytes();
        return total;
    }

    ThreadPool threads;
    const bool exact_products; // see BackendChoice

private:
    struct Blocks {
        Scratch& operator[](ScratchUse use) { return blocks[static_cast<size_t>(use)]; }
        uint64_t bytes() const
        {
            uint64_t total = 0;
            for (const Scratch& block : blocks)
                total += block.bytes();
            return total;
        }
        Scratch blocks[static_cast<size_t>(ScratchUse::Count)];
    };
    Blocks shared;
    std::vector<Blocks> worker;
};

} // namespace palimpsest::kernels
