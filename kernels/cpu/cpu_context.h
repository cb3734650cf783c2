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

// A 64-byte aligned block that only grows. Growth discards its contents.
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

// Scratch blocks by purpose, so that a kernel and the kernels it calls do not share one by accident.
enum class ScratchUse {
    NormedRows,
    PackedRows,
    PackedWeight,
    Hidden,
    Unfinished,
    Routing,
    ExpertRows,
    PackedKeys,
    PackedValues,
    Scores,
    Sums,
    PageScores,
    ReadRanks,
    Count
};

struct CpuContext {
    explicit CpuContext(int thread_count, bool only_exact_products = false)
        : threads(thread_count), exact_products(only_exact_products), worker(static_cast<size_t>(thread_count))
    {
    }

    Scratch& shared_scratch(ScratchUse use) { return shared[use]; }
    // Belongs to one worker of the pool; only that worker may access it during a run.
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
