// Command line of the benchmarks that run sessions with a model.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>

namespace palimpsest::bench {

struct EngineOptions {
    std::string model;
    std::string device = "cpu";
    int threads = 1;
    int32_t budget = 1024;
    int32_t chunk = 512;
    int64_t tokens = 0;
    int pairs = 5;

    // Handles --device, --threads, --budget, --chunk, --tokens, --pairs. Returns false for other options.
    bool read(const std::string& option, const char* value)
    {
        if (option == "--device")
            device = value;
        else if (option == "--threads")
            threads = std::atoi(value);
        else if (option == "--budget")
            budget = std::atoi(value);
        else if (option == "--chunk")
            chunk = std::atoi(value);
        else if (option == "--tokens")
            tokens = std::atoll(value);
        else if (option == "--pairs")
            pairs = std::atoi(value);
        else
            return false;
        return true;
    }
};

// Parses MODEL and options with one value each; `read_own(option, value)` returns whether it handles an option that
// is not listed above. Returns false if the line is invalid.
template<class ReadOwn>
bool parse_line(int argc, char** argv, EngineOptions& options, const ReadOwn& read_own)
{
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i];
        if (!word.starts_with("--")) {
            options.model = word;
            continue;
        }
        if (++i == argc) return false;
        if (!options.read(word, argv[i]) && !read_own(word, argv[i])) return false;
    }
    return !options.model.empty();
}

} // namespace palimpsest::bench
