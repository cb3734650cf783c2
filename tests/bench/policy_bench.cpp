// Prefill and decode time of every policy relative to `streaming`, which uses no signals; runs are interleaved.
//
//   policy-bench MODEL [--device NAME] [--threads N] [--budget N] [--chunk N] [--tokens N] [--pairs N] [--policy
//   SPEC]
//
// Uses processor time of all threads on the CPU, and wall clock on other devices. Ratios are medians over the pairs
// of this run. In each pair the two policies take turns nine times at generating 16 tokens.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "engine/policy/named/registry.h"
#include "engine/session/session.h"
#include "kernels/base/error.h"
#include "tests/bench/ceilings.h"
#include "tests/bench/engine_options.h"
#include "tests/bench/median.h"

using namespace palimpsest;
using namespace palimpsest::engine;

namespace {

struct Options : bench::EngineOptions { // tokens = 0 stands for 3072, or fewer if the model's context is shorter
    std::vector<std::string> policies;
};

Options parse(int argc, char** argv)
{
    Options o;
    const bool fits = bench::parse_line(argc, argv, o, [&](const std::string& option, const char* value) {
        if (option == "--policy") o.policies.emplace_back(value);
        return option == "--policy";
    });
    if (!fits) {
        std::fprintf(stderr, "usage: policy-bench MODEL [--device NAME] [--threads N] [--budget N] [--chunk N] "
                             "[--tokens N] [--pairs N] "
                             "[--policy SPEC]\n");
        std::exit(2);
    }
    if (o.policies.empty())
        for (const PolicyInfo& info : policies())
            if (info.name != "streaming" && info.name != "full") o.policies.push_back(info.name);
    return o;
}

class Costs {
public:
    explicit Costs(const Options& o)
        : o_(o), clock_(o.threads, o.device == "cpu"),
          model_(
              Model::load(o.model, kernels::open_backend({.device = o.device, .threads = o.threads, .simd = ""})))
    {
        constexpr int64_t usual = 3072, room_to_generate = 128;
        if (o_.tokens == 0) o_.tokens = std::min(usual, model_->config().context - room_to_generate);
        std::mt19937_64 random(1);
        tokens_.resize(static_cast<size_t>(o_.tokens));
        for (TokenId& token : tokens_)
            token = static_cast<TokenId>(random() % static_cast<uint64_t>(model_->config().vocabulary));
    }

    void run() const
    {
        std::printf("model %s, %d threads, SIMD %s, budget %d, chunk %d, %lld tokens, %d pairs\n",
                    model_->config().name.c_str(), o_.threads, model_->backend().simd_target().c_str(), o_.budget,
                    o_.chunk, static_cast<long long>(o_.tokens), o_.pairs);
        std::printf("%-40s prefill / streaming   decode / streaming\n", "");
        for (const std::string& policy : o_.policies) {
            try {
                compare(policy);
            } catch (const Error& error) {
                std::printf("%-40s %s\n", policy.c_str(), error.what());
            }
        }
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

    double prefill(Session& s) const
    {
        const double start = clock_.now();
        s.feed(tokens_);
        s.finish();
        return clock_.now() - start;
    }

    double decode(Session& s) const
    {
        const double start = clock_.now();
        s.generate({.max_tokens = 16, .stop = {}, .token = {}, .is_end = {}});
        return clock_.now() - start;
    }

    // Returns the time of `other` divided by that of `plain`. Callers alternate the order, so that drift over time
    // favors neither.
    template<class Measure>
    static double ratio(Session& plain, Session& other, bool plain_first, const Measure& measure)
    {
        const double first = measure(plain_first ? plain : other), second = measure(plain_first ? other : plain);
        return plain_first ? second / first : first / second;
    }

    void compare(const std::string& policy) const
    {
        constexpr int stretches = 9;
        std::vector<double> prefills, decodes;
        for (int i = 0; i < o_.pairs; ++i) {
            const auto streaming = session("streaming"), other = session(policy);
            if (i == 0) prefill(*session("streaming")), prefill(*session(policy)); // warm-up
            prefills.push_back(ratio(*streaming, *other, i % 2 == 0, [&](Session& s) { return prefill(s); }));
            decode(*streaming), decode(*other); // warm-up
            for (int j = 0; j < stretches; ++j)
                decodes.push_back(
                    ratio(*streaming, *other, (i + j) % 2 == 0, [&](Session& s) { return decode(s); }));
        }
        const auto [least, most] = std::minmax_element(prefills.begin(), prefills.end());
        const auto [fastest, slowest] = std::minmax_element(decodes.begin(), decodes.end());
        std::printf("%-40s %.3f (%.3f-%.3f)   %.3f (%.3f-%.3f)\n", policy.c_str(), bench::median(prefills), *least,
                    *most, bench::median(decodes), *fastest, *slowest);
        std::fflush(stdout);
    }

    Options o_;
    bench::Clock clock_;
    std::shared_ptr<const Model> model_;
    std::vector<TokenId> tokens_;
};

} // namespace

int main(int argc, char** argv)
try {
    Costs(parse(argc, argv)).run();
    return 0;
} catch (const Error& error) {
    std::fprintf(stderr, "policy-bench: %s\n", error.what());
    return static_cast<int>(error.kind());
}
