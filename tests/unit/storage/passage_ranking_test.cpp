// Ranking by the session's model: all passages stay, in an order that only depends on the model.
#include "storage/session/passage_ranking.h"

#include <algorithm>
#include <set>

#include "tests/unit/storage/book_session.h"

using namespace palimpsest;
using namespace palimpsest::storage;
using palimpsest::tests::BookSession;

namespace {

struct FoundInBook : BookSession {
    explicit FoundInBook(size_t count = 60)
    {
        with_book();
        double score = 1;
        for (const StoredPassage& passage : PassageIndex(store().database).all(store().library.list().at(0).id)) {
            if (hits.size() == count) break;
            hits.push_back({passage, score});
            score *= 0.999;
        }
    }
    RankedPassages rank(double seconds, const std::stop_token& stop = {})
    {
        return rank_passages(hits, "Who kept the light in 1812?", tests::model(), store(), seconds, stop);
    }
    std::vector<PassageHit> hits;
};

std::vector<int64_t> order_of(const std::vector<PassageHit>& hits)
{
    std::vector<int64_t> order;
    for (const PassageHit& hit : hits)
        order.push_back(hit.passage.index);
    return order;
}

constexpr double long_enough = 3600;

} // namespace

TEST_CASE("the model ranks all passages, and loses none")
{
    FoundInBook tested;
    REQUIRE(tested.hits.size() > 10);
    const RankedPassages ranked = tested.rank(long_enough);
    CHECK(ranked.ranked == tested.hits.size());
    const auto order = order_of(ranked.hits);
    CHECK(order != order_of(tested.hits));
    CHECK(std::set<int64_t>(order.begin(), order.end()).size() == tested.hits.size());
    CHECK(std::is_sorted(ranked.hits.begin(), ranked.hits.end(),
                         [](const PassageHit& a, const PassageHit& b) { return a.score > b.score; }));
    CHECK(order_of(tested.rank(long_enough).hits) == order);
}

TEST_CASE("without time, or when it is stopped, the order of the search stays")
{
    FoundInBook tested;
    const auto before = order_of(tested.hits);
    std::stop_source stopped;
    stopped.request_stop();
    for (const RankedPassages& ranked :
         {tested.rank(0), tested.rank(1e-9), tested.rank(long_enough, stopped.get_token())}) {
        CHECK(ranked.ranked == 0);
        CHECK(order_of(ranked.hits) == before);
    }
    FoundInBook one(1);
    CHECK(one.rank(long_enough).ranked == 0);
}
