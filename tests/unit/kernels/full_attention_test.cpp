// attend_fully() compared with float64, on every SIMD target.
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "kernels/cpu/cpu_context.h"
#include "kernels/cpu/full_attention.h"
#include "tests/support/catch.h"
#include "tests/support/every_target.h"

using namespace palimpsest::kernels;

namespace {

struct Sizes {
    int64_t tokens, heads, head_dim;
};

std::vector<float> random_qkv(const Sizes& s, std::mt19937& random)
{
    std::normal_distribution<float> normal(0, 2);
    std::vector<float> qkv(static_cast<size_t>(s.tokens * 3 * s.heads * s.head_dim));
    for (float& v : qkv)
        v = normal(random);
    return qkv;
}

// Output of one query: softmax of its logits, then the weighted mean of the values.
void expected_query(const Sizes& s, const std::vector<float>& qkv, int64_t head, int64_t query, double* out)
{
    const int64_t width = s.heads * s.head_dim;
    const auto at = [&](int64_t token, int64_t part, int64_t i) {
        return static_cast<double>(qkv[static_cast<size_t>((token * 3 + part) * width + head * s.head_dim + i)]);
    };
    std::vector<double> weights;
    for (int64_t t = 0; t < s.tokens; ++t) {
        double logit = 0;
        for (int64_t i = 0; i < s.head_dim; ++i)
            logit += at(query, 0, i) * at(t, 1, i);
        weights.push_back(logit / std::sqrt(static_cast<double>(s.head_dim)));
    }
    const double largest = *std::max_element(weights.begin(), weights.end());
    double total = 0;
    for (double& w : weights)
        total += w = std::exp(w - largest);
    for (int64_t i = 0; i < s.head_dim; ++i) {
        out[i] = 0;
        for (int64_t t = 0; t < s.tokens; ++t)
            out[i] += weights[static_cast<size_t>(t)] / total * at(t, 2, i);
    }
}

std::vector<float> attend(const Sizes& s, const std::vector<float>& qkv)
{
    std::vector<float> out(static_cast<size_t>(s.tokens * s.heads * s.head_dim), 7.0f);
    const cpu::FullAttention args{
        .qkv = qkv.data(), .tokens = s.tokens, .heads = s.heads, .head_dim = s.head_dim, .out = out.data()};
    Scratch scratch;
    const size_t floats = cpu::full_attention_floats(args);
    float* memory = scratch.get<float>(floats);
    for (int64_t head = 0; head < s.heads; ++head) {
        std::fill_n(memory, floats, std::numeric_limits<float>::quiet_NaN()); // what other texts left there
        cpu::attend_fully(args, head, memory);
    }
    return out;
}

} // namespace

TEST_CASE("attention to all tokens agrees with float64 at every size", "[full_attention]")
{
    std::mt19937 random(3);
    palimpsest::tests::on_every_target([&] {
        for (const int64_t tokens : {1, 2, 3, 13, 14, 15, 16, 17, 29, 31, 32, 33, 64, 65, 130})
            for (const auto& [heads, head_dim] :
                 {std::pair<int64_t, int64_t>{1, 1}, {3, 7}, {4, 8}, {2, 32}, {1, 64}}) {
                const Sizes s{tokens, heads, head_dim};
                const std::vector<float> qkv = random_qkv(s, random), out = attend(s, qkv);
                double worst = 0;
                std::vector<double> expected(static_cast<size_t>(head_dim));
                for (int64_t t = 0; t < tokens; ++t)
                    for (int64_t head = 0; head < heads; ++head) {
                        expected_query(s, qkv, head, t, expected.data());
                        for (int64_t i = 0; i < head_dim; ++i) {
                            const float got = out[static_cast<size_t>((t * heads + head) * head_dim + i)];
                            const double error = static_cast<double>(got) - expected[static_cast<size_t>(i)];
                            worst = std::max(worst, std::isfinite(got) ? std::abs(error) : 1e30);
                        }
                    }
                CAPTURE(tokens, heads, head_dim);
                CHECK(worst < 2e-5);
            }
    });
}

TEST_CASE("attention to all tokens survives logits beyond the range of the exponential", "[full_attention]")
{
    palimpsest::tests::on_every_target([] {
        const Sizes s{3, 1, 4};
        std::vector<float> qkv(36, 0.0f);
        for (size_t token = 0; token < 3; ++token) {
            qkv[token * 12] = 1000;                                 // query
            qkv[token * 12 + 4] = 1000 * static_cast<float>(token); // key: logits 0, 500,000 and 1,000,000
            qkv[token * 12 + 8] = static_cast<float>(token);        // value
        }
        const std::vector<float> out = attend(s, qkv);
        for (size_t token = 0; token < 3; ++token)
            CHECK(out[token * 4] == 2.0f);
    });
}
