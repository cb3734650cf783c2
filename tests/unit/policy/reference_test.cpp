// The slow reference against the numbers of docs/policies-spec.md and small cases computed by hand.
#include <cmath>
#include <random>

#include "tests/support/catch.h"
#include "tests/support/reference_choices.h"
#include "tests/support/reference_norm.h"
#include "tests/support/reference_policy.h"
#include "tests/support/reference_retrieval.h"
#include "tests/support/reference_shaping.h"
#include "tests/support/reference_trees.h"

using namespace palimpsest::tests;
using palimpsest::engine::PolicySpec;
using Ranks = std::vector<int>;
using Scores = std::vector<double>;

namespace {

constexpr int unlimited = std::numeric_limits<int>::max();

ReferenceSettings settings_of(const std::string& spec, int layers, int budget)
{
    return ReferenceSettings(PolicySpec::parse(spec), layers, budget);
}

Ranks pyramid(const std::string& allocation, int layers, int base, double beta)
{
    return allocate(pyramid_profile(allocation, layers, beta), layers * base,
                    Ranks(static_cast<size_t>(layers), unlimited));
}

} // namespace

TEST_CASE("reference: allocate's examples")
{
    CHECK(allocate({1, 1, 1}, 7, {unlimited, unlimited, unlimited}) == Ranks{3, 2, 2});
    CHECK(allocate({6, 1, 1}, 12, {5, 9, 9}) == Ranks{5, 4, 3});
    CHECK(allocate({1, 2}, 10, {3, 7}) == Ranks{3, 7});         // the limits sum to the total
    CHECK(allocate({0, 0}, 5, {9, 9}) == Ranks{3, 2});          // equal weights
    CHECK(allocate({0, 0, 1}, 9, {4, 9, 3}) == Ranks{3, 3, 3}); // entry 2 is limited first, then the others share
}

TEST_CASE("reference: top_k and pool")
{
    CHECK(top_k({.2, .5, .5, .1, .5}, 2) == Ranks{1, 2});
    CHECK(top_k({.2, .5}, 7) == Ranks{0, 1});
    CHECK(top_k({.2, .5}, 0).empty());
    // Windows of three: (0 + 3 + 6) / 3, (3 + 6 + 0) / 3, (6 + 0 + 0) / 3.
    CHECK(pool({3, 6, 0}, 3, "avg") == Scores{3, 3, 2});
    CHECK(pool({-3, -6, -9}, 3, "max") == Scores{-3, -3, -6});
    CHECK(pool({3, 6, 0}, 3, "none") == Scores{3, 6, 0});
}

TEST_CASE("reference: pyramids have the sizes of the table in docs/policies-spec.md")
{
    CHECK(pyramid("linear", 8, 120, 20) == Ranks{234, 201, 169, 136, 104, 71, 39, 6});
    CHECK(pyramid("geometric", 8, 120, 20) == Ranks{397, 235, 140, 83, 49, 29, 17, 10});
    CHECK(pyramid("exponential", 8, 120, 20) == Ranks{334, 220, 146, 97, 65, 45, 31, 22});
    CHECK(pyramid("linear", 1, 120, 20) == Ranks{120});
    CHECK(pyramid("linear", 5, 7, 1) == Ranks{7, 7, 7, 7, 7});
}

TEST_CASE("reference: new rows scale down or replace past sums")
{
    // window=2: one new row halves the sums so far, two rows replace them.
    const ReferenceSettings settings = settings_of("snapkv:window=2", 1, 64);
    ReferenceSignals one(settings, {{.stream = 0, .sum = 3, .count = 2}, {.stream = 1}}, 1, 2);
    one.add({{{.25, .75}}, {{.75, .25}}});
    CHECK(one.list()[0].sum == Approx(1.5 + .5));
    CHECK(one.list()[0].count == Approx(1 + 1));
    CHECK(one.list()[1].sum == Approx(.5));
    CHECK(one.list()[1].count == Approx(1));
    ReferenceSignals two(settings, {{.stream = 0, .sum = 3, .count = 2}, {.stream = 1}, {.stream = 2}}, 2, 1);
    two.add({{{.5, .5, 0}, {.2, .3, .5}}});
    CHECK(two.list()[0].sum == Approx(.7));
    CHECK(two.list()[2].sum == Approx(.5));
    CHECK(two.list()[2].count == Approx(1));
}

TEST_CASE("reference: keys are compared with the mean of their directions")
{
    ReferenceSignals signals(settings_of("keydiff", 1, 64), ReferenceList(5), 5, 1);
    signals.set_keys({{1, 0}, {3, 0}, {0, 2}, {1, 1}, {0, -1}});
    const double x = 2 + std::sqrt(.5), y = std::sqrt(.5);
    CHECK(signals.list()[1].sum == Approx(x / 5));
    CHECK(signals.list()[2].sum == Approx(y / 5));
    CHECK(signals.list()[3].sum == Approx((x + y) / 5 / std::sqrt(2)));
    CHECK(signals.list()[4].sum == Approx(-y / 5));
}

TEST_CASE("reference: low counts compare the mean over heads with the uniform share")
{
    // Row 0 sees two entries (share 1/2), row 1 three (1/3): means .4 .6 and .45 .1 .45.
    const ReferenceSettings settings = settings_of("scissorhands:window=9", 1, 64);
    ReferenceSignals signals(settings, {{.stream = 0}, {.stream = 1}, {.stream = 2}}, 2, 2);
    signals.add({{{.3, .7, 0}, {.5, .1, .4}}, {{.5, .5, 0}, {.4, .1, .5}}});
    CHECK(signals.list()[0].sum == 1);
    CHECK(signals.list()[1].sum == 1);
    CHECK(signals.list()[2].sum == 0);
}

TEST_CASE("reference: renormalised rows sum to 1 outside the observation window")
{
    // The newest entry alone is outside the prefix: row .5 .5 0 has a prefix mass of 1, row .2 .3 .5 one of .5.
    const ReferenceSettings settings = settings_of("hbw-kv:renormalise=true,window=2,recent=1", 1, 64);
    ReferenceSignals signals(settings, {{.stream = 0}, {.stream = 1}, {.stream = 2}}, 2, 1);
    signals.add({{{.5, .5, 0}, {.2, .3, .5}}});
    CHECK(signals.list()[0].sum == Approx(.5 + .4));
    CHECK(signals.list()[1].sum == Approx(.5 + .6));
    CHECK(signals.list()[2].sum == Approx(1));
}

TEST_CASE("reference: moments, their score and the entropy column")
{
    // One query head, rows .2 and .4 for entry 0: mean .3, unbiased variance .02; with gamma 10: .3 + .2.
    const ReferenceSettings settings = settings_of("cake:window=2,gamma=10", 1, 64);
    ReferenceSignals signals(settings, {{.stream = 0}, {.stream = 1}, {.stream = 2}}, 2, 1);
    signals.add({{{.2, .8, 0}, {.4, .5, .1}}});
    CHECK(signals.list()[0].moments[0].sum == Approx(.6));
    CHECK(signals.list()[0].moments[0].squares == Approx(.04 + .16));
    CHECK(score_of(settings, signals.list()[0]) == Approx(.5));
    CHECK(score_of(settings, signals.list()[2]) == Approx(.1)); // one row: no variance
    CHECK(signals.entropies()[0] == Approx(-.2 * std::log(.2) - .4 * std::log(.4)));
}

TEST_CASE("reference: row statistics")
{
    CHECK(row_statistic("entropy", {.25, .25, .25, .25}) == Approx(1));
    CHECK(row_statistic("entropy", {1, 0, 0, 0}) == 0);
    CHECK(row_statistic("entropy", {1}) == 0);
    CHECK(row_statistic("gini", {.25, .25, .25, .25}) == Approx(0).margin(1e-12));
    CHECK(row_statistic("gini", {0, 1, 0, 0}) == Approx(.75)); // (v - 1) / v
    CHECK(row_statistic("gini", {.1, .2, .3, .4}) == Approx((-3 * .1 - .2 + .3 + 3 * .4) / 4));
    CHECK(row_statistic("sparsity", {.25, .15, .5, .1}) == Approx(.5)); // two of four reach 1/4
}

TEST_CASE("reference: hbw-kv's example")
{
    const Scores score = {.9, .8, .1, .1, .2, .1, .7, .6, .1, .1, .3, .1, .05, .05, .5, .1};
    CHECK(choose_blocks(settings_of("hbw-kv:block=2,rounds=1+2", 1, 64), score, 8) ==
          Ranks{0, 1, 4, 5, 6, 7, 14, 15});
    CHECK(choose_blocks(settings_of("hbw-kv:block=2,rounds=1", 1, 64), score, 8) ==
          Ranks{0, 1, 6, 7, 10, 11, 14, 15});
    CHECK(choose_blocks(settings_of("hbw-kv:block=1,rounds=1", 1, 64), score, 8) == top_k(score, 8));
    CHECK(choose_blocks(settings_of("hbw-kv:block=2", 1, 64), {.1, .2, .3}, 3) == Ranks{0, 1, 2});
}

TEST_CASE("reference: hbw-kv fills the slots that its rounds leave")
{
    // Blocks of three: {0 1 2} .2, {3 4 5} .5, {6} .9. The quota is one block: the single-entry block 2, which is
    // the best. Of 4 slots 3 are left, and block 1 fits. A fifth slot goes to the best entry of block 0.
    const Scores score = {.1, .3, .2, .5, .5, .5, .9};
    CHECK(choose_blocks(settings_of("hbw-kv:block=3,rounds=1", 1, 64), score, 4) == Ranks{3, 4, 5, 6});
    CHECK(choose_blocks(settings_of("hbw-kv:block=3,rounds=1", 1, 64), score, 5) == Ranks{1, 3, 4, 5, 6});
}

TEST_CASE("reference: chunkkv's short block counts for less by its sum")
{
    // Blocks of two: {0 1} .3, {2 3} .2, {4 5} .25, {6} .4; their sums are .6, .4, .5, .4.
    const Scores score = {.1, .5, .2, .2, .5, 0, .4};
    CHECK(choose_blocks(settings_of("chunkkv:block=2", 1, 64), score, 4) == Ranks{0, 1, 4, 6});
    CHECK(choose_blocks(settings_of("chunkkv:block=2,score=sum", 1, 64), score, 4) == Ranks{0, 1, 4, 5});
}

TEST_CASE("reference: hbw-kv's representatives")
{
    // Seven candidates in three blocks: [0, 2), [2, 4), [4, 7).
    const Scores score = {.1, .4, .5, .5, .2, .6, .3};
    const auto stays = [&](const std::string& kind) {
        Ranks out;
        for (const auto& block :
             choose_representatives(settings_of("hbw-kv:representative=" + kind, 1, 64), score, 3))
            out.push_back(block.stays);
        return out;
    };
    CHECK(stays("first") == Ranks{0, 2, 4});
    CHECK(stays("last") == Ranks{1, 3, 6});
    CHECK(stays("max") == Ranks{1, 2, 5});
    CHECK(stays("avg") == Ranks{0, 2, 5});
}

TEST_CASE("reference: refreekv's row")
{
    const Scores row = {.5, .1, .05, .05, .02, .03, .05, .2};
    // One list; every query head has the row times a factor.
    const auto keeps = [&](const std::string& keys, int cap, const std::vector<double>& heads = {1}) {
        const ReferenceSettings settings = settings_of("refreekv:floor=0,sinks=2," + keys, 8, cap);
        ReferenceList list;
        for (const double a : row) {
            list.push_back({.sum = a, .count = 1});
            for (const double factor : heads)
                list.back().moments.push_back({.sum = factor * a});
        }
        const auto order = refreekv_order(settings, row, !settings.ranked_by_score);
        return choose_by_norm(settings, order, norm_count(settings, {&list}, {order}));
    };
    CHECK(keeps("mask_sinks=0,threshold=0.01", 64) == Ranks{0, 1, 5, 6, 7});
    CHECK(keeps("mask_sinks=0,threshold=0.01", 64, {1, 3, .1}) == Ranks{0, 1, 5, 6, 7});
    CHECK(keeps("mask_sinks=0,threshold=0.05", 64) == Ranks{0, 1, 7});
    CHECK(keeps("mask_sinks=0,threshold=0.01", 4) == Ranks{0, 1, 6, 7});
    CHECK(keeps("mask_sinks=0,threshold=0.9", 64) == Ranks{0, 1, 7}); // at least the sinks and the newest
    CHECK(keeps("mask_sinks=2,threshold=0.01", 64) == Ranks{0, 1, 2, 3, 4, 5, 6, 7});
    CHECK(keeps("mask_sinks=2,threshold=0.05", 64) == Ranks{0, 1, 3, 4, 5, 6, 7});
    // By score after sinks and newest: 0 1 7 | 2 3 6 5 4. Missing norms: .014 after three entries, .012 after entry
    // 2, .008 after entry 3, so five are kept.
    CHECK(keeps("ranking=score,threshold=0.01", 64) == Ranks{0, 1, 2, 3, 7});
}

TEST_CASE("reference: refreekv's missing norms")
{
    const Scores row = {.5, .1, .05, .05, .02, .03, .05, .2};
    const auto missing = [&](int masked) {
        Scores out;
        double held = 0, all = 0;
        for (size_t j = static_cast<size_t>(masked); j < row.size(); ++j)
            all += row[j] * row[j];
        for (const int rank : {0, 1, 7, 6, 5, 4, 3, 2}) {
            if (rank < masked) continue;
            held += row[static_cast<size_t>(rank)] * row[static_cast<size_t>(rank)];
            out.push_back(std::round((1 - std::sqrt(held / all)) * 1000) / 1000);
        }
        return out;
    };
    CHECK(missing(0) == Scores{.100, .082, .014, .010, .009, .008, .004, 0});
    CHECK(missing(2) == Scores{.095, .067, .057, .053, .026, 0});
}

// The two heads attend to different ends of the list. Averaging their rows first hides the weaker head; with
// separate norms the entries of both are needed.
TEST_CASE("reference: norms of heads are averaged, not their rows")
{
    const ReferenceSettings settings = settings_of("refreekv:floor=0,sinks=0,mask_sinks=0,threshold=0.3", 8, 64);
    ReferenceList list(4);
    const double heads[2][4] = {{.0, .0, .1, .9}, {.1, .1, .0, .0}};
    for (size_t j = 0; j < list.size(); ++j) {
        list[j].sum = (heads[0][j] + heads[1][j]) / 2;
        list[j].count = 1;
        list[j].moments = {{.sum = heads[0][j]}, {.sum = heads[1][j]}};
    }
    const Ranks order = {3, 2, 1, 0};
    CHECK(norm_count(settings, {&list}, {order}) == 1); // .900 of .9055 + .1414
    const ReferenceSettings strict = settings_of("refreekv:floor=0,sinks=0,mask_sinks=0,threshold=0.1", 8, 64);
    CHECK(norm_count(strict, {&list}, {order}) == 3); // .9055 is .865 of the sum, .9055 + .1 is .960
    const ReferenceSettings mean =
        settings_of("refreekv:floor=0,sinks=0,mask_sinks=0,threshold=0.1,norm=mean", 8, 64);
    CHECK(norm_count(mean, {&list}, {order}) == 1);
}

TEST_CASE("reference: twilight-evict keeps the fewest entries that reach the mass")
{
    const ReferenceSettings settings = settings_of("twilight-evict:window=1,recent=1,p=0.75", 1, 64);
    const Scores score = {.4, .1, .3, .1, .1}; // in descending order .4 .3 .1 sum to .8 of 1
    CHECK(choose_by_mass(settings, score) == Ranks{0, 1, 2, 4});
    CHECK(choose_by_mass(settings, score, 1) == Ranks{0, 1, 2, 3, 4});
    CHECK(choose_by_mass(settings_of("twilight-evict:window=1,recent=1,p=0.75", 1, 2), score) == Ranks{0, 4});
    CHECK(choose_by_mass(settings_of("twilight-evict:window=1,recent=0,p=0.4", 1, 64), score) == Ranks{0});
}

TEST_CASE("reference: quest's pages and twilight's mass")
{
    // Pages of two one-dimensional keys. The bound of a page is its greatest key for query 1, and its negated least
    // key for query -1. Their mean is (greatest - least) / 2: .5 5 4.5 0 for {1 2} {5 -5} {0 9} {3 3}. The last
    // page is always read.
    const ReferenceVectors keys = {{1}, {2}, {5}, {-5}, {0}, {9}, {3}, {3}, {7}};
    const auto quest = settings_of("quest:page=2", 4, 6);
    double margin = 1;
    const auto both = retrieved(quest, 2, {{1}, {-1}}, keys, margin);
    CHECK(both[0] == Ranks{2, 3, 4, 5, 8});
    CHECK(both[1] == both[0]);
    CHECK(retrieved(quest, 1, {{1}}, keys, margin)[0].size() == keys.size());
    CHECK(retrieved(settings_of("quest:page=2", 4, 9), 2, {{1}}, keys, margin)[0].size() == keys.size());

    // At these ranks query 1 has the logits 5 -5 0 9 7: e^9 alone is .866 of the mass, with e^7 .983.
    const auto twilight = retrieved(settings_of("twilight:page=2", 4, 6), 2, {{1}, {-1}}, keys, margin);
    CHECK(twilight[0] == Ranks{5});
    CHECK(twilight[1] == Ranks{3});
    CHECK(smallest_mass({2, 3, 4, 5, 8}, {5, -5, 0, 9, 7}, .9, margin) == Ranks{5, 8});
}

TEST_CASE("reference: random's order is that of SplitMix64")
{
    // Computed with a few lines of Python from the numbers of the paper; their generator begins with seed 0 as
    // every other one does, with e220a8397b1dcdaf.
    CHECK(random_place(0, 0, 0, 1) == 0x2a4f111b3be57715u);
    CHECK(random_place(7, 3, 1, 100000) == 0x125f2cf32a5a3e7cu);
    CHECK(choose_randomly(0, 0, 0, {1, 2, 3, 4, 5, 6, 7, 8}, 2) == Ranks{0, 3});
    CHECK(choose_randomly(0, 0, 0, {5, 6}, 7) == Ranks{0, 1});
}

TEST_CASE("reference: lacache's offsets")
{
    const auto offsets = [](const std::string& keys) {
        std::vector<Ranks> out;
        for (int layer = 0; layer < 8; ++layer)
            out.push_back(kept_offsets_of(settings_of("lacache:span=4" + keys, 8, 64), 8, layer));
        return out;
    };
    using Offsets = std::vector<Ranks>;
    CHECK(offsets("") == Offsets{{0}, {1}, {0}, {1}, {0}, {1}, {0}, {1}});
    CHECK(offsets(",pattern=ladder") == Offsets{{0}, {0}, {0}, {0}, {1}, {1}, {1}, {1}});
    CHECK(offsets(",pattern=reverse") == Offsets{{1}, {1}, {1}, {1}, {0}, {0}, {0}, {0}});
    CHECK(offsets(",overlap=2") == Offsets{{0, 1}, {1, 2}, {0, 1}, {1, 2}, {0, 1}, {1, 2}, {0, 1}, {1, 2}});
}

TEST_CASE("reference: cake's preference")
{
    // One head, window of two rows, one recent entry: prefix entries .2 .4 and .8 .5.
    const ReferenceSettings settings = settings_of("cake:window=2,recent=1,tau1=2,tau2=0.5", 1, 64);
    ReferenceSignals signals(settings, {{.stream = 0}, {.stream = 1}, {.stream = 2}}, 2, 1);
    signals.add({{{.2, .8, 0}, {.4, .5, .1}}});
    const double entropy = -.2 * std::log(.2) - .4 * std::log(.4) - .8 * std::log(.8) - .5 * std::log(.5);
    const double variance = .02 + .045; // (.2/2)^2 * 2 and (.3/2)^2 * 2
    CHECK(cake_preference(settings, {&signals.list()}, {signals.entropies()}) ==
          Approx(std::sqrt(entropy) * variance * variance));
}
