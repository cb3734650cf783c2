// Runs a fuzz target without libFuzzer: on every file of a corpus, then on mutations of them, the same in every
// run.
//
//     TARGET CORPUS_FOLDER [MUTATIONS [ONLY]]
//
// If the process crashes, the number of the input is printed; ONLY runs just the mutation with that number.
#include <algorithm>
#include <array>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <unistd.h>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
// NOLINTNEXTLINE(bugprone-reserved-identifier): the sanitizers' runtime defines it
extern "C" void __sanitizer_set_death_callback(void (*callback)()) __attribute__((weak));

namespace {

using Input = std::vector<uint8_t>;

constexpr uint64_t seed = 20;
std::array<char, 64> current; // the name of the running input, which a signal handler can write as it is

void name_current(const char* kind, uint64_t number)
{
    std::snprintf(current.data(), current.size(), "\nfailed in %s %llu (seed %llu)\n", kind,
                  static_cast<unsigned long long>(number), static_cast<unsigned long long>(seed));
}

void report_current()
{
    const auto length = static_cast<size_t>(std::find(current.begin(), current.end(), '\0') - current.begin());
    if (write(STDERR_FILENO, current.data(), length) < 0) return;
}

void on_signal(int signal)
{
    report_current();
    std::signal(signal, SIG_DFL);
    std::raise(signal);
}

std::vector<Input> read_corpus(const std::filesystem::path& folder)
{
    std::vector<std::filesystem::path> paths;
    for (const auto& entry : std::filesystem::directory_iterator(folder))
        paths.push_back(entry.path());
    std::sort(paths.begin(), paths.end());
    std::vector<Input> corpus;
    for (const auto& path : paths) {
        std::ifstream file(path, std::ios::binary);
        corpus.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    }
    return corpus;
}

// A corpus file with one to four random changes.
class Mutator {
public:
    Mutator(uint64_t number, const std::vector<Input>& corpus) : random_(seed + number), corpus_(corpus) {}

    Input make()
    {
        Input input = corpus_[below(corpus_.size())];
        for (uint64_t changes = 1 + below(4); changes > 0 && !input.empty(); --changes)
            change(input);
        return input;
    }

private:
    uint64_t below(uint64_t n) { return random_() % n; }

    void change(Input& input)
    {
        // Half of the changes affect the first 1024 bytes, where headers are.
        const uint64_t range = below(2) == 0 ? input.size() : std::min<uint64_t>(input.size(), 1024);
        const uint64_t at = below(range);
        switch (below(6)) {
        case 0:
            input[at] ^= static_cast<uint8_t>(1u << below(8));
            break;
        case 1:
            input[at] = static_cast<uint8_t>(random_());
            break;
        case 2:
            overwrite(input, at);
            break;
        case 3:
            input.resize(at);
            break;
        case 4:
            erase(input, at);
            break;
        default:
            splice(input, at);
            break;
        }
    }

    void overwrite(Input& input, uint64_t at)
    {
        constexpr std::array<uint64_t, 10> values = {
            0, 1, 0x7F, 0xFF, 0x7FFF, 0x7FFFFFFF, 0xFFFFFFFF, uint64_t{1} << 32, uint64_t{1} << 63, UINT64_MAX};
        const uint64_t value = values[below(values.size())];
        const uint64_t width = std::min<uint64_t>(uint64_t{1} << below(4), input.size() - at);
        for (uint64_t i = 0; i < width; ++i)
            input[at + i] = static_cast<uint8_t>(value >> (8 * i));
    }

    void erase(Input& input, uint64_t at)
    {
        const auto from = input.begin() + static_cast<std::ptrdiff_t>(at);
        input.erase(from, from + static_cast<std::ptrdiff_t>(std::min<uint64_t>(1 + below(16), input.size() - at)));
    }

    void splice(Input& input, uint64_t at)
    {
        const Input& other = corpus_[below(corpus_.size())];
        if (other.empty()) return;
        const uint64_t from = below(other.size());
        const uint64_t count = std::min<uint64_t>(1 + below(64), other.size() - from);
        const Input piece(other.begin() + static_cast<std::ptrdiff_t>(from),
                          other.begin() + static_cast<std::ptrdiff_t>(from + count));
        input.insert(input.begin() + static_cast<std::ptrdiff_t>(at), piece.begin(), piece.end());
    }

    std::mt19937_64 random_;
    const std::vector<Input>& corpus_;
};

void run(const Input& input)
{
    // An exact allocation, so that a sanitizer detects reads past its end.
    const Input copy(input); // NOLINT(performance-unnecessary-copy-initialization): the copy is the point
    LLVMFuzzerTestOneInput(copy.data(), copy.size());
}

} // namespace

int main(int argc, char** argv)
{
    if (argc < 2) {
        std::fprintf(stderr, "usage: %s CORPUS_FOLDER [MUTATIONS [ONLY]]\n", argv[0]);
        return 2;
    }
    for (const int signal : {SIGABRT, SIGSEGV, SIGILL, SIGFPE, SIGTRAP})
        std::signal(signal, on_signal);
    if (__sanitizer_set_death_callback) __sanitizer_set_death_callback(report_current);
    const auto corpus = read_corpus(argv[1]);
    if (corpus.empty()) {
        std::fprintf(stderr, "%s: no corpus\n", argv[1]);
        return 1;
    }
    const uint64_t mutations = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 0;
    if (argc > 3) {
        run(Mutator(std::strtoull(argv[3], nullptr, 10), corpus).make());
        return 0;
    }
    for (size_t i = 0; i < corpus.size(); ++i) {
        name_current("corpus file", i);
        run(corpus[i]);
    }
    for (uint64_t i = 0; i < mutations; ++i) {
        name_current("mutation", i);
        run(Mutator(i, corpus).make());
    }
    std::printf("%zu corpus files and %llu mutations (seed %llu): no fault\n", corpus.size(),
                static_cast<unsigned long long>(mutations), static_cast<unsigned long long>(seed));
    return 0;
}
