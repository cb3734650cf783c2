#include "engine/eval/proportion.h"

#include "tests/support/catch.h"

using namespace palimpsest::engine;

// Of statsmodels 0.14, proportion_confint(right, of, method="wilson").
TEST_CASE("the interval of a proportion is that of a published implementation")
{
    struct Published {
        uint64_t right, of;
        double low, high;
    };
    const auto [right, of, low, high] =
        GENERATE(Published{0, 10, 0, 0.277532800}, Published{8, 10, 0.490162472, 0.943317849},
                 Published{50, 100, 0.403831530, 0.596168470}, Published{1, 1, 0.206549314, 1},
                 Published{999, 1000, 0.994357441, 0.999823454});
    const auto interval = Proportion{right, of}.interval();
    CHECK(interval.first == Approx(low).margin(1e-9));
    CHECK(interval.second == Approx(high).margin(1e-9));
}

TEST_CASE("without observations any proportion is possible")
{
    CHECK(Proportion{}.interval() == std::pair{0.0, 1.0});
    CHECK(Proportion{}.share() == 0);
}

TEST_CASE("a proportion counts what is right")
{
    Proportion proportion;
    for (const bool is_right : {true, false, true, true})
        proportion.add(is_right);
    CHECK(proportion.share() == 0.75);
}
