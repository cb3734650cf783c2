// The options of speed-bench.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace palimpsest::bench {

struct SpeedOptions {
    std::string model, device = "cpu";
    int threads = 0;
    int32_t chunk = 512, rows = 4096, decode = 64;

    // speeds
    std::vector<int32_t> budgets = {2048, 1024, 8192};
    // In this order: no signals, signals of the last rows of a chunk, signals of all rows.
    std::vector<std::string> policies = {"streaming", "snapkv", "treekv"};
    int64_t tokens = 16384;

    // stream
    std::vector<std::string> stream_policies = {"treekv", "treekv-log", "lacache", "streaming"};
    int64_t stream = 1'000'000, window = 32768;
    int32_t stream_budget = 2048;

    // depths
    std::vector<int64_t> depths = {4096, 8192, 16384, 32768, 65536, 131072};
    std::vector<int32_t> depth_budgets = {2048, 1024, 4096, 0}; // 0: the full cache

    // start
    int64_t start = 512;
    int repeats = 5;

    struct Task {
        std::string name;
        double seconds = 1e9; // time limit: work that has not begun by then is skipped
    };
    std::vector<Task> tasks = {{"speeds"}};

    // Prints the usage and exits with 2 if the line is invalid.
    static SpeedOptions parse(int argc, char** argv);
};

} // namespace palimpsest::bench
