// keep_top_mass(): the fewest weights that hold a share of their sum, compared with a full sort.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "kernels/cpu/top_mass.h"
#include "tests/support/catch.h"
#include "tests/support/every_target.h"

using palimpsest::kernels::cpu::keep_top_mass;
using palimpsest::tests::on_every_target;

namespace {

std::vector<float> kept_by_sorting(std::vector<float> weights, double share)
{
    std::vector<size_t> order(weights.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return weights[a] > weights[b]; });
    const double wanted = (share - 1e-12) * std::accumulate(weights.begin(), weights.end(), 0.0);
    double held = 0;
    for (const size_t i : order) {
        const bool enough = held > 0 && held >= wanted;
        held += static_cast<double>(weights[i]);
        if (enough) weights[i] = 0;
    }
    return weights;
}

// Returns multiples of 2^-20: their sums are exact in any order, so the cut-off is unambiguous.
std::vector<float> random_weights(size_t count, int kind, std::mt19937& random)
{
    std::vector<float> weights(count);
    for (float& w : weights) {
        const double x = std::uniform_real_distribution<double>(-9, 0)(random);
        const double wanted = kind == 0 ? std::exp(x) : kind == 1 ? std::exp(0.1 * x) : kind == 2 ? 0.5 : 0.125;
        w = static_cast<float>(std::ldexp(std::round(std::ldexp(wanted, 20)), -20));
        if (kind == 3 && random() % 2) w = 0;
    }
    weights[random() % count] = 1;
    return weights;
}

void check_shares()
{
    std::mt19937 random(5);
    for (const size_t count : {1u, 2u, 15u, 16u, 17u, 31u, 33u, 200u, 1000u})
        for (int kind = 0; kind < 4; ++kind)
            for (const double share : {0.01, 0.3, 0.5, 0.85, 0.97, 1.0}) {
                CAPTURE(count, kind, share);
                const auto weights = random_weights(count, kind, random);
                auto kept = weights;
                std::vector<uint32_t> order(count);
                keep_top_mass(kept.data(), static_cast<int64_t>(count), share, order.data());
                CHECK(kept == kept_by_sorting(weights, share));
            }
}

} // namespace

TEST_CASE("retrieval: keep_top_mass keeps the weights that a full sort keeps, on every target")
{
    on_every_target(check_shares);
}

TEST_CASE("retrieval: keep_top_mass keeps NaN, so that it shows in the sum")
{
    for (const size_t at : {0u, 5u, 16u, 20u}) {
        std::vector<float> weights(21, 0.25f);
        weights[3] = 1;
        weights[at] = std::numeric_limits<float>::quiet_NaN();
        std::vector<uint32_t> order(weights.size());
        keep_top_mass(weights.data(), 21, 0.5, order.data());
        CHECK(std::isnan(std::accumulate(weights.begin(), weights.end(), 0.0f)));
    }
}
