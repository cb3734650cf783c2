// Loops over the entries of a list give the same bits as the same loops written plainly.
#include <algorithm>
#include <random>
#include <vector>

#include "engine/policy/selection/worst_candidates.h"
#include "engine/policy/signals/score_loops.h"
#include "tests/support/catch.h"
#include "tests/support/every_target.h"

using namespace palimpsest::engine;
using palimpsest::tests::on_every_target;

namespace {

// With `ties`, draws from five values only.
std::vector<double> random_numbers(size_t n, std::mt19937_64& random, bool ties = false)
{
    std::uniform_real_distribution<double> uniform(0.1, 2);
    std::vector<double> x(n);
    for (double& value : x)
        value = ties ? static_cast<double>(random() % 5) : uniform(random);
    return x;
}

void check_pooling()
{
    std::mt19937_64 random(4);
    for (const Pooling kind : {Pooling::Average, Pooling::Max})
        for (int32_t kernel = 1; kernel <= 9; kernel += 2)
            for (size_t n = 0; n < 50; n += 7) {
                CAPTURE(n, kernel);
                const auto reach = static_cast<size_t>(kernel) / 2;
                const auto from = random_numbers(n + 2 * reach, random);
                std::vector<double> to(from.size(), -1);
                pool_inner(kind, kernel, from.data(), reach, reach + n, to.data());
                for (size_t i = 0; i < from.size(); ++i) {
                    if (i < reach || i >= reach + n) {
                        CHECK(to[i] == -1);
                        continue;
                    }
                    double pooled = from[i - reach];
                    for (size_t k = i - reach + 1; k <= i + reach; ++k)
                        pooled = kind == Pooling::Max ? std::max(pooled, from[k]) : pooled + from[k];
                    CHECK(to[i] == (kind == Pooling::Max ? pooled : pooled / kernel));
                }
            }
}

void check_sums_and_means()
{
    std::mt19937_64 random(1);
    for (size_t n = 0; n < 70; ++n) {
        CAPTURE(n);
        const auto x = random_numbers(n, random), by = random_numbers(n, random);
        const std::vector<float> columns(x.begin(), x.end());
        auto sums = by, counts = by;
        decay_and_add(0.75, columns, 3, sums);
        decay_and_add(0.75, 2, counts);
        std::vector<double> quotients(n);
        divide(x.data(), by.data(), quotients);
        for (size_t i = 0; i < n; ++i) {
            CHECK(sums[i] == 0.75 * by[i] + static_cast<double>(columns[i]) / 3);
            CHECK(counts[i] == 0.75 * by[i] + 2);
            CHECK(quotients[i] == x[i] / by[i]);
        }
        for (const size_t group : {size_t{1}, size_t{3}}) {
            const auto moments = random_numbers(2 * n * group, random), count = random_numbers(n, random);
            std::vector<double> scores(n);
            mean_and_variance(moments.data(), count.data(), group, 200, scores);
            for (size_t i = 0; i < n; ++i) {
                double total = 0;
                for (size_t g = 0; g < group; ++g) {
                    const double sum = moments[2 * (i * group + g)], squares = moments[2 * (i * group + g) + 1];
                    const double variance =
                        count[i] <= 1 ? 0 : std::max(0.0, (squares - sum * sum / count[i]) / (count[i] - 1));
                    total += sum / count[i] + 200 * variance;
                }
                CHECK(scores[i] == total / static_cast<double>(group));
            }
        }
    }
}

void check_lowest()
{
    std::mt19937_64 random(2);
    for (size_t n = 1; n < 80; ++n) {
        const auto x = random_numbers(n, random, true);
        for (size_t first = 0; first < n; first += 3) {
            CAPTURE(n, first);
            size_t lowest = first, low = n;
            for (size_t i = first; i < n; ++i)
                lowest = x[i] <= x[lowest] ? i : lowest;
            for (size_t i = n; i-- > first;)
                low = x[i] <= 1 ? i : low;
            CHECK(last_lowest(x.data(), first, n) == lowest);
            CHECK(next_not_above(x.data(), first, n, 1) == low);
        }
    }
}

} // namespace

TEST_CASE("loops over entries give the same bits as plain loops on every SIMD target")
{
    on_every_target(check_sums_and_means);
    on_every_target(check_lowest);
    on_every_target(check_pooling);
}

TEST_CASE("the worst candidates of several lists are the last ones of all candidates in sorted order")
{
    std::mt19937_64 random(3);
    WorstCandidates worst;
    for (int round = 0; round < 200; ++round) {
        std::vector<std::vector<double>> scores;
        std::vector<ListCut> lists;
        std::vector<Candidate> all;
        for (uint32_t h = 0; h < 3; ++h)
            scores.push_back(random_numbers(1 + random() % 60, random, round % 2 == 0));
        for (uint32_t h = 0; h < 3; ++h) {
            lists.push_back({.view = {.list = {}, .size = static_cast<uint32_t>(scores[h].size())},
                             .ends = {.sinks = 2, .recent = 3},
                             .score = {},
                             .shaped = scores[h]});
            for (uint32_t entry = lists[h].first(); entry < lists[h].end(); ++entry)
                all.push_back({scores[h][entry], h, entry});
        }
        const size_t count = random() % (all.size() + 3);
        CAPTURE(round, count);
        std::sort(all.begin(), all.end());
        all.erase(all.begin(), all.end() - static_cast<std::ptrdiff_t>(std::min(count, all.size())));
        const auto found = worst.collect(lists, count);
        std::vector<Candidate> sorted(found.begin(), found.end());
        std::sort(sorted.begin(), sorted.end());
        REQUIRE(sorted.size() == all.size());
        for (size_t i = 0; i < all.size(); ++i)
            CHECK((!(sorted[i] < all[i]) && !(all[i] < sorted[i])));
    }
}
