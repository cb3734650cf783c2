
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "kernels/cpu/thread_pool.h"
#include "tests/support/catch.h"

using palimpsest::kernels::ThreadPool;

TEST_CASE("every task runs once, whether workers spin, sleep or arrive late", "[threads]")
{
    for (const int threads : {1, 2, 3, 8}) {
        ThreadPool pool(threads);
        REQUIRE(pool.threads() == threads);
        for (int round = 0; round < 2000; ++round) {
            std::vector<std::atomic<int>> ran(static_cast<size_t>(round % 37));
            std::atomic<bool> worker_in_range = true;
            pool.run(static_cast<int64_t>(ran.size()), [&](int64_t task, int worker) {
                ++ran[static_cast<size_t>(task)];
                if (worker < 0 || worker >= threads) worker_in_range = false;
            });
            bool once = true;
            for (const auto& count : ran)
                once = once && count == 1;
            REQUIRE(once);
            REQUIRE(worker_in_range);
            // Waits longer than workers spin, so that some rounds begin while they sleep.
            if (round % 400 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
        }
    }
}

TEST_CASE("what tasks have written is visible after the run", "[threads]")
{
    ThreadPool pool(3);
    std::vector<int64_t> written(1000); // not atomic: run() itself must order the memory accesses
    for (int64_t round = 1; round < 500; ++round) {
        pool.run(1000, [&](int64_t task, int) { written[static_cast<size_t>(task)] += round; });
        REQUIRE(written[static_cast<size_t>(round)] == round * (round + 1) / 2);
    }
}

TEST_CASE("a run waits for tasks that take longer than the caller spins", "[threads]")
{
    ThreadPool pool(2);
    for (int round = 0; round < 10; ++round) {
        std::atomic<int> done = 0;
        pool.run(4, [&](int64_t, int worker) {
            std::this_thread::sleep_for(std::chrono::microseconds(worker == 0 ? 100 : 3000));
            ++done;
        });
        REQUIRE(done == 4);
    }
}
