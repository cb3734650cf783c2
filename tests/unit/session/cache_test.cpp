// Token lists, the retained-token map, and values derived from it.

#include "engine/cache/eviction_events.h"
#include "engine/cache/retention_map.h"
#include "engine/cache/token_list.h"
#include "tests/support/catch.h"

using namespace palimpsest::engine;

TEST_CASE("dropping ranks keeps the order of the tokens, and their sums")
{
    TokenList list;
    list.append(10, 6, true);
    for (size_t i = 0; i < 6; ++i)
        list.sum[i] = static_cast<double>(i);
    list.drop(std::vector<uint32_t>{0, 2, 5});
    CHECK(list.stream == std::vector<uint32_t>{11, 13, 14});
    CHECK(list.sum == std::vector<double>{1, 3, 4});
    list.append(16, 2, true);
    CHECK(list.stream == std::vector<uint32_t>{11, 13, 14, 16, 17});
    CHECK(list.sum == std::vector<double>{1, 3, 4, 0, 0});
    list.drop({});
    CHECK(list.size() == 5);
}

TEST_CASE("moments are dropped and appended with their tokens")
{
    TokenList list;
    list.append(10, 4, true, 2);
    REQUIRE(list.moments.size() == 8);
    for (size_t i = 0; i < 8; ++i)
        list.moments[i] = static_cast<double>(i);
    list.drop(std::vector<uint32_t>{1, 3});
    CHECK(list.moments == std::vector<double>{0, 1, 4, 5});
    list.append(14, 2, true, 2);
    CHECK(list.moments == std::vector<double>{0, 1, 4, 5, 0, 0, 0, 0});
    list.truncate(1);
    CHECK(list.moments == std::vector<double>{0, 1});
    CHECK(list.stream == std::vector<uint32_t>{10});
    list.truncate(0);
    list.append(20, 1, true, 2);
    CHECK(list.moments == std::vector<double>{0, 0});
}

TEST_CASE("a token fades when its last head drops it")
{
    TokenList a, b;
    a.stream = {1, 2, 3, 4};
    b.stream = {2, 3, 4, 5};
    const std::vector<const TokenList*> lists = {&a, &b};
    // a drops 1, 2, 3 and b drops 2 and 5. 1 (never in b), 2 (dropped by both) and 5 fade; 3 is still in b.
    CHECK(no_longer_retained(lists, {{0, 1, 2}, {0, 3}}) == std::vector<uint32_t>{1, 2, 5});
    CHECK(no_longer_retained(lists, {{}, {}}).empty());
}

TEST_CASE("overlap is the share of kept tokens that both maps hold")
{
    const RetentionMap a{1, 2, 10, {{0, 1, 2, 3}, {5}}};
    const RetentionMap b{1, 2, 10, {{2, 3, 4, 5}, {5}}};
    CHECK(overlap(a, a) == 1.0);
    CHECK(overlap(a, b) == Approx(3.0 / 7.0));
    CHECK(overlap(RetentionMap{1, 1, 0, {{}}}, RetentionMap{1, 1, 0, {{}}}) == 1.0);
}

TEST_CASE("reach counts slots by tenth of the stream")
{
    const RetentionMap map{1, 1, 100, {{0, 5, 50, 99}}};
    const Reach r = reach(map);
    CHECK(r.by_tenth[0] == Approx(0.5));
    CHECK(r.by_tenth[5] == Approx(0.25));
    CHECK(r.by_tenth[9] == Approx(0.25));
    CHECK(r.median_age == 94); // ages 0, 49, 94, 99: the upper middle
}
