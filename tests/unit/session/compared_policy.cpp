#include "tests/unit/session/compared_policy.h"

#include <algorithm>
#include <cmath>
#include <list>
#include <random>

#include "tests/support/catch.h"

namespace palimpsest::tests {
namespace {

using engine::LayerObservation;
using engine::ListState;
using engine::Merge;

constexpr size_t shadows = 8;
constexpr double max_difference = 1e-4; // far more than the difference between backends

std::vector<Merge> flat(std::span<const std::vector<Merge>> merges)
{
    std::vector<Merge> all;
    for (const auto& of_list : merges)
        all.insert(all.end(), of_list.begin(), of_list.end());
    return all;
}

bool equal(const std::vector<Merge>& a, const std::vector<Merge>& b)
{
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](const Merge& x, const Merge& y) { return x.into == y.into && x.of == y.of; });
}

template<class T>
std::vector<T> copy(std::span<const T> values)
{
    return {values.begin(), values.end()};
}

// Copies of lists and an observation in which every number is slightly changed.
class Off {
public:
    Off(std::span<const ListState> heads, uint64_t seed) : random_(seed)
    {
        for (const ListState& list : heads) {
            sums_.push_back(off(list.sum));
            moments_.push_back(off(list.moments));
            lists_.push_back(
                {.stream = list.stream, .sum = sums_.back(), .count = list.count, .moments = moments_.back()});
        }
    }
    std::span<const ListState> lists() const { return lists_; }
    LayerObservation of(const LayerObservation& seen)
    {
        LayerObservation result{.rows = seen.rows, .row_statistic = off(seen.row_statistic)};
        for (const auto& entropies : seen.entropies) {
            entropies_.push_back(off(entropies));
            result.entropies.emplace_back(entropies_.back());
        }
        return result;
    }

private:
    double off(double x)
    {
        return x * (1 + max_difference * std::uniform_real_distribution<double>(-1, 1)(random_));
    }
    template<class T>
    std::vector<T> off(std::span<const T> values)
    {
        std::vector<T> result;
        for (const T x : values)
            result.push_back(static_cast<T>(off(static_cast<double>(x))));
        return result;
    }

    std::mt19937_64 random_;
    std::list<std::vector<double>> sums_, moments_;
    std::list<std::vector<float>> entropies_;
    std::vector<ListState> lists_;
};

void check_close(std::span<const double> own, const std::vector<double>& led, double tolerance)
{
    REQUIRE(own.size() == led.size());
    for (size_t i = 0; i < led.size(); ++i)
        if (std::abs(own[i] - led[i]) > tolerance * (1 + std::abs(led[i]))) {
            CAPTURE(i);
            REQUIRE(own[i] == led[i]);
        }
}

} // namespace

LeadingPolicy::LeadingPolicy(std::unique_ptr<engine::Policy> policy, int32_t layers, Decisions& decisions)
    : ForwardingPolicy(std::move(policy)), decisions_(decisions)
{
    decisions_.of.resize(static_cast<size_t>(layers));
    for (size_t i = 0; i < shadows; ++i)
        shadows_.push_back(policy_->clone());
}

void LeadingPolicy::observe(int32_t layer, std::span<const ListState> heads, const LayerObservation& seen)
{
    policy_->observe(layer, heads, seen);
    uint64_t seed = 77 * decisions_.of[static_cast<size_t>(layer)].size();
    auto& shown = shown_[layer]; // kept until select(), because a policy that couples layers still reads it
    shown.clear();
    for (const auto& shadow : shadows_) {
        const auto off = std::make_shared<Off>(heads, ++seed);
        shown.push_back(off);
        shadow->observe(layer, off->lists(), off->of(seen));
    }
}

void LeadingPolicy::select(int32_t layer, std::span<const ListState> heads,
                           std::vector<std::vector<uint32_t>>& dropped)
{
    policy_->select(layer, heads, dropped);
    auto& of_layer = decisions_.of[static_cast<size_t>(layer)];
    uint64_t seed = 99 * of_layer.size();
    Decision now;
    now.dropped = dropped;
    now.merges = flat(policy_->merges());
    for (const ListState& list : heads) {
        now.streams.push_back(copy(list.stream));
        now.sums.push_back(copy(list.sum));
        now.counts.push_back(copy(list.count));
        now.moments.push_back(copy(list.moments));
    }
    for (const auto& shadow : shadows_) {
        std::vector<std::vector<uint32_t>> other;
        shadow->select(layer, Off(heads, ++seed).lists(), other);
        if (other != dropped || !equal(flat(shadow->merges()), now.merges))
            decisions_.first_close = std::min(decisions_.first_close, of_layer.size());
    }
    of_layer.push_back(std::move(now));
}

void LeadingPolicy::end_prefill()
{
    policy_->end_prefill();
    for (const auto& shadow : shadows_)
        shadow->end_prefill();
}

void FollowingPolicy::select(int32_t layer, std::span<const ListState> heads,
                             std::vector<std::vector<uint32_t>>& dropped)
{
    policy_->select(layer, heads, dropped);
    const size_t step = steps_[static_cast<size_t>(layer)]++;
    if (step >= led_.first_close) return;
    CAPTURE(layer, step);
    const Decision& led = led_.of[static_cast<size_t>(layer)].at(step);
    for (size_t h = 0; h < heads.size(); ++h) {
        CAPTURE(h);
        REQUIRE(copy(heads[h].stream) == led.streams[h]);
        check_close(heads[h].sum, led.sums[h], tolerance_);
        check_close(heads[h].count, led.counts[h], 0);
        check_close(heads[h].moments, led.moments[h], tolerance_);
    }
    REQUIRE(dropped == led.dropped);
    REQUIRE(equal(flat(policy_->merges()), led.merges));
    ++compared_;
}

} // namespace palimpsest::tests
