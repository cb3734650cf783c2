// Measures the machine's limits; every speed is reported as a fraction of one of them from the same run.
#pragma once

#include <cstddef>
#include <vector>

#include "kernels/cpu/thread_pool.h"

namespace palimpsest::bench {

// Seconds since an arbitrary start: wall clock, or this process's processor time divided by its threads. Processor
// time ignores the load of other processes, so it approximates the wall clock of an idle machine.
class Clock {
public:
    explicit Clock(int threads, bool processor_time) : threads_(threads), processor_time_(processor_time) {}
    double now() const;

private:
    int threads_;
    bool processor_time_;
};

// FLOP/s of f32 multiply-adds in registers on all threads of the pool. Takes about 10 ms.
double fma_peak(kernels::ThreadPool& pool, const Clock& clock);

// Bytes/s of summing a block larger than the caches, one sequential part per thread. Takes about 10 ms.
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
