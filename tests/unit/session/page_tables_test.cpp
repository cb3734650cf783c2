// Lists take pages and return them; no page is lost or held twice.
#include <random>

#include "engine/cache/page_tables.h"
#include "tests/support/catch.h"

using palimpsest::engine::PageTables;

TEST_CASE("every page is free or held by exactly one list")
{
    constexpr int64_t stride = 9, pages = 40;
    constexpr size_t lists = 7;
    for (uint64_t seed = 0; seed < 50; ++seed) {
        CAPTURE(seed);
        std::mt19937_64 random(seed);
        PageTables tables(lists, stride, pages);
        std::vector<int64_t> held(lists, 0);
        for (int i = 0; i < 300; ++i) {
            const size_t list = random() % lists;
            const auto wanted = static_cast<int64_t>(random() % (stride + 1));
            int64_t free = pages;
            for (const int64_t h : held)
                free -= h;
            if (wanted >= held[list]) {
                const bool fits = wanted - held[list] <= free;
                REQUIRE(tables.grow(list, wanted) == fits);
                if (fits) held[list] = wanted;
            } else {
                tables.shrink(list, wanted);
                held[list] = wanted;
            }
            REQUIRE(tables.held(list) == held[list]);
            REQUIRE(tables.consistent());
        }
    }
}

TEST_CASE("a list that grows keeps the pages it has")
{
    PageTables tables(2, 4, 6);
    REQUIRE(tables.grow(0, 2));
    const uint32_t first = tables.page(0, 0), second = tables.page(0, 1);
    REQUIRE(tables.grow(1, 2));
    REQUIRE(tables.grow(0, 4));
    CHECK(tables.page(0, 0) == first);
    CHECK(tables.page(0, 1) == second);
    CHECK_FALSE(tables.grow(1, 3));
    CHECK(tables.held(1) == 2);
    CHECK(tables.grow(1, 1)); // it already has more
    CHECK(tables.held(1) == 2);
    tables.shrink(0, 3);
    CHECK(tables.grow(1, 3));
    CHECK(tables.consistent());
}

TEST_CASE("the pages of a list are consecutive, from its home on")
{
    PageTables tables(3, 8, 12); // homes: 0 to 3, 4 to 7, 8 to 11
    REQUIRE(tables.grow(1, 6));
    for (uint32_t at = 0; at < 6; ++at)
        CHECK(tables.page(1, at) == 4 + at); // continues into the home of the next list
    REQUIRE(tables.grow(2, 3));
    CHECK(tables.page(2, 0) == 10);
    CHECK(tables.page(2, 1) == 11);
    CHECK(tables.page(2, 2) == 0);
    tables.shrink(2, 0);
    tables.shrink(1, 2);
    REQUIRE(tables.grow(2, 2));
    CHECK(tables.page(2, 0) == 8);
    CHECK(tables.page(2, 1) == 9);
}
