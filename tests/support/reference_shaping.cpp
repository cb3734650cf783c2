#include "tests/support/reference_shaping.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace palimpsest::tests {

std::vector<int> best_first(const std::vector<double>& score)
{
    std::vector<int> ranks(score.size());
    std::iota(ranks.begin(), ranks.end(), 0);
    std::stable_sort(ranks.begin(), ranks.end(),
                     [&](int a, int b) { return score[static_cast<size_t>(a)] > score[static_cast<size_t>(b)]; });
    return ranks;
}

std::vector<int> top_k(const std::vector<double>& score, int k)
{
    std::vector<int> ranks = best_first(score);
    ranks.resize(static_cast<size_t>(std::clamp(k, 0, static_cast<int>(score.size()))));
    std::sort(ranks.begin(), ranks.end());
    return ranks;
}

std::vector<double> pool(const std::vector<double>& score, int kernel, const std::string& kind)
{
    if (kind == "none") return score;
    const int n = static_cast<int>(score.size());
    std::vector<double> out;
    for (int j = 0; j < n; ++j) {
        double sum = 0, largest = -std::numeric_limits<double>::infinity();
        for (int i = j - kernel / 2; i <= j + kernel / 2; ++i) {
            if (i < 0 || i >= n) continue;
            sum += score[static_cast<size_t>(i)];
            largest = std::max(largest, score[static_cast<size_t>(i)]);
        }
        out.push_back(kind == "max" ? largest : sum / kernel);
    }
    return out;
}

std::vector<int> allocate(const std::vector<double>& weights, int total, const std::vector<int>& limits)
{
    const size_t n = weights.size();
    if (std::accumulate(limits.begin(), limits.end(), int64_t{0}) <= total) return limits;

    std::vector<bool> active(n, true);
    std::vector<double> share(n);
    int left = total;
    for (bool again = true; again;) {
        double sum = 0, members = 0;
        for (size_t i = 0; i < n; ++i) {
            if (!active[i]) continue;
            sum += weights[i];
            members += 1;
        }
        again = false;
        for (size_t i = 0; i < n; ++i)
            if (active[i]) share[i] = sum > 0 ? left * weights[i] / sum : left / members;
        for (size_t i = 0; i < n; ++i) {
            if (!active[i] || share[i] < limits[i]) continue;
            share[i] = limits[i];
            active[i] = false;
            left -= limits[i];
            again = true;
        }
    }

    std::vector<int> slots(n);
    std::vector<double> rest(n);
    int missing = total;
    for (size_t i = 0; i < n; ++i) {
        slots[i] = static_cast<int>(std::floor(share[i] + 1e-9));
        rest[i] = std::round((share[i] - slots[i]) * 1e9) / 1e9;
        missing -= slots[i];
    }
    for (const int i : best_first(rest)) {
        const auto at = static_cast<size_t>(i);
        if (missing == 0 || slots[at] >= limits[at]) continue;
        ++slots[at];
        --missing;
    }
    return slots;
}

std::vector<double> pyramid_profile(const std::string& allocation, int layers, double beta)
{
    std::vector<double> profile(static_cast<size_t>(layers), 1.0);
    if (layers == 1) return profile;
    double sum = 0;
    for (int l = 0; l < layers; ++l) {
        const double x = static_cast<double>(l) / (layers - 1);
        double& share = profile[static_cast<size_t>(l)];
        if (allocation == "linear") share = 2 - 1 / beta - (2 - 2 / beta) * x;
        if (allocation == "geometric") share = std::pow(2 * beta - 1, -x);
        if (allocation == "exponential") share = std::pow(beta, -x);
        sum += share;
    }
    if (allocation == "exponential") {
        for (double& share : profile)
            share = 1 / beta + (1 - 1 / beta) * layers * share / sum;
    }
    return profile;
}

} // namespace palimpsest::tests
