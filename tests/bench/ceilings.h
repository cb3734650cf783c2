// What the machine can do at most, measured: every speed is stated as a fraction of one of these from the same run.
#pragma once

#include <cstddef>
#include <vector>

#include "kernels/cpu/thread_pool.h"

namespace palimpsest::bench {

// Seconds since some start: of the wall clock, or of the processor time this process used, divided by the threads
// in use. The latter is what a busy machine would show if it were idle: shares other processes took do not count.
class Clock {
public:
    explicit Clock(int threads, bool processor_time) : threads_(threads), processor_time_(processor_time) {}
    double now() const;

private:
    int threads_;
    bool processor_time_;
};

// f32 multiply-adds on registers, by all threads of the pool: FLOP/s. Takes about 10 ms.
double fma_peak(kernels::ThreadPool& pool, const Clock& clock);

// Sums a block that no cache holds, each thread its own part in one stream: bytes/s. Takes about 10 ms.
class ReadBandwidth {
public:
    ReadBandwidth(); // allocates and fills the block
    double operator()(kernels::ThreadPool& pool, const Clock& clock);
    size_t bytes() const { return block_.size() * sizeof(float); }

private:
    std::vector<float> block_;
};

size_t last_level_cache_bytes();

} // namespace palimpsest::bench
