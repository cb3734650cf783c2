// The command line of the programs that measure sessions with a model.
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

    // --device, --threads, --budget, --chunk, --tokens, --pairs. False for any other.
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

// MODEL and options, each with its value; `read_own(option, value)` says whether it took one that is not read
// above. False if the line is wrong.
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
