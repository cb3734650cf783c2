#include "tests/bench/ceilings.h"

#include <algorithm>
#include <ctime>
#include <unistd.h>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/bench/ceilings.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace palimpsest::bench {
namespace HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

constexpr int chains =
    12; // independent sums: more than FMA latency times FMA units, yet no more than sixteen registers hold

// Returns the number of operations; `keep` receives a value that depends on all of them.
double multiply_adds(int64_t rounds, float* keep)
{
    const hn::ScalableTag<float> d;
    hn::Vec<decltype(d)> sums[chains];
    for (auto& sum : sums)
        sum = hn::Set(d, *keep);
    const auto a = hn::Set(d, 0.999f), b = hn::Set(d, *keep * 0.001f);
    for (int64_t i = 0; i < rounds; ++i) {
#pragma GCC unroll 12
        for (auto& sum : sums)
            sum = hn::MulAdd(sum, a, b);
    }
    auto total = hn::Zero(d);
    for (const auto& sum : sums)
        total = hn::Add(total, sum);
    *keep = hn::GetLane(hn::SumOfLanes(d, total));
    return 2.0 * chains * static_cast<double>(rounds) * static_cast<double>(hn::Lanes(d));
}

float sum_of(const float* HWY_RESTRICT x, int64_t count)
{
    const hn::ScalableTag<float> d;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    auto s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
    for (int64_t i = 0; i + 4 * lanes <= count; i += 4 * lanes) {
        s0 = hn::Add(s0, hn::LoadU(d, x + i));
        s1 = hn::Add(s1, hn::LoadU(d, x + i + lanes));
        s2 = hn::Add(s2, hn::LoadU(d, x + i + 2 * lanes));
        s3 = hn::Add(s3, hn::LoadU(d, x + i + 3 * lanes));
    }
    return hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(s0, s1), hn::Add(s2, s3))));
}

} // namespace
} // namespace HWY_NAMESPACE
} // namespace palimpsest::bench
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace palimpsest::bench {
namespace {

HWY_EXPORT(multiply_adds);
HWY_EXPORT(sum_of);

// Receives results, so that the compiler cannot remove the work.
volatile float sink;

} // namespace

double Clock::now() const
{
    timespec time;
    clock_gettime(processor_time_ ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &time);
    const double seconds = static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
    return processor_time_ ? seconds / threads_ : seconds;
}

double fma_peak(kernels::ThreadPool& pool, const Clock& clock)
{
    constexpr int64_t rounds = 200'000;
    constexpr int64_t shares = 8; // tasks per thread: a thread that starts late takes fewer of them
    const int64_t tasks = shares * pool.threads();
    std::vector<double> done(static_cast<size_t>(tasks));
    const double start = clock.now();
    pool.run(tasks, [&](int64_t task, int) {
        float keep = 1.0f;
        done[static_cast<size_t>(task)] = HWY_DYNAMIC_DISPATCH(multiply_adds)(rounds, &keep);
        sink = keep;
    });
    const double seconds = clock.now() - start;
    double total = 0;
    for (const double operations : done)
        total += operations;
    return total / seconds;
}

ReadBandwidth::ReadBandwidth() : block_(std::max<size_t>(4 * last_level_cache_bytes(), size_t{128} << 20) / 4)
{
    for (size_t i = 0; i < block_.size(); ++i)
        block_[i] = static_cast<float>(i % 17);
}

double ReadBandwidth::operator()(kernels::ThreadPool& pool, const Clock& clock)
{
    const int64_t tasks = pool.threads();
    const auto count = static_cast<int64_t>(block_.size()) / tasks / 64 * 64;
    const double start = clock.now();
    pool.run(tasks,
             [&](int64_t task, int) { sink = HWY_DYNAMIC_DISPATCH(sum_of)(block_.data() + task * count, count); });
    return static_cast<double>(count * tasks) * sizeof(float) / (clock.now() - start);
}

size_t last_level_cache_bytes()
{
    const long bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);
    return bytes > 0 ? static_cast<size_t>(bytes) : size_t{32} << 20;
}

} // namespace palimpsest::bench
#endif
