#include "engine/eval/mean_score.h"

#include "engine/eval/proportion.h"
#include "tests/support/catch.h"

using namespace palimpsest::engine;

namespace {

MeanScore mean_of(std::initializer_list<double> scores)
{
    MeanScore mean;
    for (const double score : scores)
        mean.add(score);
    return mean;
}

} // namespace

// Of scipy 1.17, norm.interval(0.95, mean, sem).
TEST_CASE("the interval of a mean score is that of a published implementation")
{
    const MeanScore mean = mean_of({0.25, 0.5, 0.75, 0.5, 1});
    CHECK(mean.mean() == Approx(0.6));
    CHECK(mean.interval().first == Approx(0.3501526349).margin(1e-9));
    CHECK(mean.interval().second == Approx(0.8498473651).margin(1e-9));
}

TEST_CASE("the interval of a mean score stays between 0 and 1")
{
    CHECK(mean_of({0.9, 1, 0.1}).interval().second == 1);
    CHECK(mean_of({0.9, 0, 0.1}).interval().first == 0);
    CHECK(mean_of({0.5, 0.5}).interval() == std::pair{0.5, 0.5});
}

TEST_CASE("scores of 0 and 1 are a proportion")
{
    const MeanScore mean = mean_of({1, 0, 1, 1});
    CHECK(mean.interval() == Proportion{3, 4}.interval());
    CHECK(mean_of({1, 1, 1}).interval().first < 0.5);
}

TEST_CASE("one score or none says nothing about the mean")
{
    CHECK(mean_of({}).interval() == std::pair{0.0, 1.0});
    CHECK(mean_of({0.5}).interval() == std::pair{0.0, 1.0});
    CHECK(mean_of({}).mean() == 0);
}
