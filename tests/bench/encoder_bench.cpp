// Speed of a sentence encoder on texts, in tokens per second and as a share of the processor's f32 peak.
//
//   encoder-bench FOLDER TEXTS [--threads N] [--repeats N] [--cpu-time]
//
// TEXTS has one text per line. Every run is between two measurements of the peak; reports medians. The share counts
// the operations that engine/encoder/bert_model.h states, without exponentials and norms.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "engine/encoder/sentence_encoder.h"
#include "kernels/base/error.h"
#include "tests/bench/ceilings.h"
#include "tests/bench/median.h"

using namespace palimpsest;
using namespace palimpsest::engine;

namespace {

struct Options {
    std::string folder, texts;
    int threads = 1;
    int repeats = 5;
    bool cpu_time = false; // uses processor time, for machines with other load
};

Options parse(int argc, char** argv)
{
    Options o;
    std::vector<std::string> words(argv + 1, argv + argc), plain;
    for (size_t i = 0; i < words.size(); ++i) {
        if (words[i] == "--cpu-time")
            o.cpu_time = true;
        else if (words[i] == "--threads" && i + 1 < words.size())
            o.threads = std::atoi(words[++i].c_str());
        else if (words[i] == "--repeats" && i + 1 < words.size())
            o.repeats = std::atoi(words[++i].c_str());
        else
            plain.push_back(words[i]);
    }
    if (plain.size() != 2 || plain[0].starts_with("--") || plain[1].starts_with("--")) {
        std::fprintf(stderr, "usage: encoder-bench FOLDER TEXTS [--threads N] [--repeats N] [--cpu-time]\n");
        std::exit(2);
    }
    o.folder = plain[0];
    o.texts = plain[1];
    return o;
}

std::vector<std::string> lines_of(const std::string& path)
{
    std::ifstream file(path);
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);)
        lines.push_back(line);
    return lines;
}

struct Work {
    double tokens = 0;
    double operations = 0;
};

Work work_of(const EncoderFolder& folder, const std::vector<std::string_view>& texts)
{
    const WordPiece tokenizer(folder.vocabulary);
    const BertConfig& c = folder.config;
    const double layer = 4.0 * c.width * (2.0 * c.width + c.ffn);
    Work work;
    for (const std::string_view text : texts) {
        const auto tokens = static_cast<double>(tokenizer.encode(text, folder.max_tokens).size());
        work.tokens += tokens;
        work.operations += tokens * c.layers * (layer + 4.0 * c.width * tokens);
    }
    return work;
}

void measure(const Options& o)
{
    const std::vector<std::string> lines = lines_of(o.texts);
    const std::vector<std::string_view> texts(lines.begin(), lines.end());
    const Work work = work_of(open_encoder_folder(o.folder), texts);
    const auto backend = kernels::open_backend({.device = "cpu", .threads = o.threads, .simd = ""});
    const auto encoder = SentenceEncoder::open(o.folder, *backend);
    encoder->encode(texts); // maps the weights
    const bench::Clock clock(o.threads, o.cpu_time);
    kernels::ThreadPool pool(o.threads);
    std::vector<double> seconds, shares;
    double before = bench::fma_peak(pool, clock);
    for (int repeat = 0; repeat < o.repeats; ++repeat) {
        const double start = clock.now();
        encoder->encode(texts);
        seconds.push_back(clock.now() - start);
        const double after = bench::fma_peak(pool, clock);
        shares.push_back(work.operations / seconds.back() / ((before + after) / 2));
        before = after;
    }
    const double second = bench::median(seconds);
    std::printf("%zu texts, %.0f tokens, %d threads: %.3f s, %.0f tokens/s, %.1f GFLOP/s, %.2f of the f32 peak\n",
                texts.size(), work.tokens, o.threads, second, work.tokens / second, work.operations / second / 1e9,
                bench::median(shares));
}

} // namespace

int main(int argc, char** argv)
try {
    measure(parse(argc, argv));
    return 0;
} catch (const Error& error) {
    std::fprintf(stderr, "encoder-bench: %s\n", error.what());
    return 1;
}
