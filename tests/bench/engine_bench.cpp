// Benchmarks the engine with one model; each figure is a ratio within one run:
//
//   engine-bench MODEL [--device NAME] [--threads N] [--budget N] [--chunk N] [--tokens N] [--pairs N] [--clock
//   wall|cpu]
//
//   signals   prefill with TreeKV's column sums relative to the same structure without (rule=left), interleaved
//   decode    bytes of weights and cache read per second, relative to the read bandwidth measured before and after
//   flatness  time per token at the end of a stream relative to its start
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "engine/session/session.h"
#include "kernels/base/error.h"
#include "tests/bench/ceilings.h"
#include "tests/bench/engine_options.h"
#include "tests/bench/median.h"
#include "tests/bench/model_costs.h"

using namespace palimpsest;
using namespace palimpsest::engine;

namespace {

struct Options : bench::EngineOptions {
    // NOLINTNEXTLINE(clang-analyzer-optin.cplusplus.UninitializedObject): the braces initialize every field
    Options() : EngineOptions{.model = {}, .device = "cpu", .threads = 2, .tokens = 4096, .pairs = 7} {}
    bool processor_time = false;
};

Options parse(int argc, char** argv)
{
    Options o;
    const bool fits = bench::parse_line(argc, argv, o, [&](const std::string& option, const char* value) {
        if (option == "--clock") o.processor_time = std::string(value) == "cpu";
        return option == "--clock";
    });
    if (fits) return o;
    std::fprintf(
        stderr,
        "usage: engine-bench MODEL [--device NAME] [--threads N] [--budget N] [--chunk N] [--tokens N] [--pairs N] "
        "[--clock wall|cpu]\n");
    std::exit(2);
}

class Bench {
public:
    explicit Bench(const Options& o)
        : o_(o), clock_(o.threads, o.processor_time), pool_(o.threads),
          model_(
              Model::load(o.model, kernels::open_backend({.device = o.device, .threads = o.threads, .simd = ""})))
    {
        std::mt19937_64 random(1);
        tokens_.resize(static_cast<size_t>(o.tokens));
        for (TokenId& token : tokens_)
            token = static_cast<TokenId>(random() % static_cast<uint64_t>(model_->config().vocabulary));
    }

    void run()
    {
        std::printf("model %s, %d threads, SIMD %s, budget %d, chunk %d\n", model_->config().name.c_str(),
                    o_.threads, model_->backend().simd_target().c_str(), o_.budget, o_.chunk);
        signals();
        decode();
        flatness();
    }

private:
    std::unique_ptr<Session> session(const std::string& policy) const
    {
        SessionOptions options;
        options.policy = PolicySpec::parse(policy);
        options.budget = o_.budget;
        options.chunk = o_.chunk;
        return std::make_unique<Session>(model_, options);
    }

    double prefill_seconds(const std::string& policy) const
    {
        const auto s = session(policy);
        const double start = clock_.now();
        s->feed(tokens_);
        s->finish();
        return clock_.now() - start;
    }

    void signals() const
    {
        prefill_seconds("treekv"); // warms up caches and scratch memory
        std::vector<double> ratios, seconds;
        for (int i = 0; i < o_.pairs; ++i) {
            seconds.push_back(prefill_seconds("treekv"));
            ratios.push_back(seconds.back() / prefill_seconds("treekv:rule=left"));
        }
        std::printf(
            "prefill   treekv %.0f tokens/s; with signals / without: median %.3f (%.3f to %.3f, %d pairs)\n",
            static_cast<double>(o_.tokens) / bench::median(seconds), bench::median(ratios),
            *std::min_element(ratios.begin(), ratios.end()), *std::max_element(ratios.begin(), ratios.end()),
            o_.pairs);
    }

    void decode()
    {
        bench::ReadBandwidth bandwidth;
        const auto s = session("treekv");
        s->feed(tokens_);
        s->finish();
        const GenerateOptions some{.max_tokens = 16, .stop = {}, .token = {}, .is_end = {}};
        s->generate(some);
        if (o_.device != "cpu") return decode_alone(*s, some);
        std::vector<double> fractions, speeds;
        for (int i = 0; i < o_.pairs; ++i) {
            const double before = bandwidth(pool_, clock_);
            const double start = clock_.now();
            s->generate(some);
            const double per_token = (clock_.now() - start) / some.max_tokens;
            const double ceiling = (before + bandwidth(pool_, clock_)) / 2;
            speeds.push_back(bytes_per_token() / per_token);
            fractions.push_back(speeds.back() / ceiling);
        }
        std::printf("decode    %.2f GB/s of weights and cache (%.1f MB a token); of read bandwidth: median %.3f "
                    "(%.3f to %.3f)\n",
                    bench::median(speeds) / 1e9, bytes_per_token() / 1e6, bench::median(fractions),
                    *std::min_element(fractions.begin(), fractions.end()),
                    *std::max_element(fractions.begin(), fractions.end()));
    }

    // For devices whose bandwidth is not the host's; gpu-bench measures it.
    void decode_alone(Session& s, const GenerateOptions& some) const
    {
        std::vector<double> speeds;
        for (int i = 0; i < o_.pairs; ++i) {
            const double start = clock_.now();
            s.generate(some);
            speeds.push_back(bytes_per_token() * some.max_tokens / (clock_.now() - start));
        }
        std::printf("decode    %.2f GB/s of weights and cache (%.1f MB a token)\n", bench::median(speeds) / 1e9,
                    bytes_per_token() / 1e6);
    }

    double bytes_per_token() const { return bench::decode_bytes(*model_, o_.budget); }

    void flatness() const
    {
        const auto s = session("treekv");
        std::vector<double> seconds;
        for (int i = 0; i < 2 * o_.pairs + 2; ++i) {
            const double start = clock_.now();
            s->feed(tokens_);
            seconds.push_back(clock_.now() - start);
        }
        const auto half = static_cast<std::ptrdiff_t>(seconds.size() / 2);
        const double begin = bench::median({seconds.begin() + 1, seconds.begin() + half});
        const double end = bench::median({seconds.begin() + half, seconds.end()});
        std::printf("flatness  time per token, second half of %lld tokens / first: %.3f\n",
                    static_cast<long long>(s->tokens_seen()), end / begin);
    }

    Options o_;
    bench::Clock clock_;
    kernels::ThreadPool pool_;
    std::shared_ptr<const Model> model_;
    std::vector<TokenId> tokens_;
};

} // namespace

int main(int argc, char** argv)
try {
    Bench(parse(argc, argv)).run();
    return 0;
} catch (const Error& error) {
    std::fprintf(stderr, "engine-bench: %s\n", error.what());
    return static_cast<int>(error.kind());
}
