#include "engine/policy/budgets/allocate.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>

namespace palimpsest::engine {

namespace {

// The indices whose shares are not fixed at their limits yet, and the slots that remain for them.
struct Sharers {
    std::vector<size_t> active;
    int64_t left = 0;

    std::vector<double> shares(std::span<const double> weights) const
    {
        double sum = 0;
        for (const size_t i : active)
            sum += weights[i];
        std::vector<double> out;
        for (const size_t i : active) {
            out.push_back(sum > 0 ? static_cast<double>(left) * weights[i] / sum
                                  : static_cast<double>(left) / static_cast<double>(active.size()));
        }
        return out;
    }

    // Fixes every index whose share reaches its limit; true if there was one.
    bool fix_limited(std::span<const double> weights, std::span<const int64_t> limits, std::vector<int64_t>& result)
    {
        const std::vector<double> now = shares(weights);
        std::vector<size_t> rest;
        for (size_t a = 0; a < active.size(); ++a) {
            const size_t i = active[a];
            if (now[a] < static_cast<double>(limits[i])) {
                rest.push_back(i);
                continue;
            }
            result[i] = limits[i];
            left -= limits[i];
        }
        const bool fixed = rest.size() < active.size();
        active = std::move(rest);
        return fixed;
    }
};

double rounded(double x)
{
    return std::round(x * 1e9) / 1e9;
}

} // namespace

std::vector<int64_t> allocate(std::span<const double> weights, int64_t total, std::span<const int64_t> limits)
{
    assert(weights.size() == limits.size() && total >= 0);
    std::vector<int64_t> result(limits.begin(), limits.end());
    if (std::accumulate(limits.begin(), limits.end(), int64_t{0}) <= total) return result;

    Sharers sharers{.active = std::vector<size_t>(weights.size()), .left = total};
    std::iota(sharers.active.begin(), sharers.active.end(), size_t{0});
    while (sharers.fix_limited(weights, limits, result)) {
    }
    const std::vector<double> shares = sharers.shares(weights);
    std::vector<std::pair<double, size_t>> remainders;
    int64_t left = sharers.left;
    for (size_t a = 0; a < shares.size(); ++a) {
        const size_t i = sharers.active[a];
        result[i] = static_cast<int64_t>(std::floor(shares[a] + 1e-9));
        left -= result[i];
        remainders.emplace_back(rounded(shares[a] - static_cast<double>(result[i])), i);
    }
    std::stable_sort(remainders.begin(), remainders.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    while (left > 0) {
        bool given = false;
        for (const auto& [remainder, i] : remainders) {
            if (left == 0 || result[i] >= limits[i]) continue;
            ++result[i];
            --left;
            given = true;
        }
        if (!given) break;
    }
    return result;
}

} // namespace palimpsest::engine
