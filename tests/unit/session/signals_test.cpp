// The signals that a session passes to a policy. The fidelity tests compare the numbers with a slow reference.
#include <cmath>
#include <map>

#include "tests/support/catch.h"
#include "tests/unit/session/own_policy.h"
#include "tests/unit/session/session_fixture.h"

using namespace palimpsest;
using namespace palimpsest::engine;
using namespace palimpsest::tests;

namespace {

// Keeps the newest entries of every list, passes all it observes to `look`, and counts the observations.
class Curious final : public OwnPolicy {
public:
    using Look = std::function<void(int32_t, std::span<const ListState>, const LayerObservation&)>;
    Curious(SignalNeeds needs, int32_t limit, bool coupled, Look look)
        : OwnPolicy(4, 2, limit), needs_(needs), coupled_(coupled), look_(std::move(look))
    {
    }
    SignalNeeds signals() const override { return needs_; }
    bool couples_layers() const override { return coupled_; }
    void observe(int32_t layer, std::span<const ListState> heads, const LayerObservation& seen) override
    {
        look_(layer, heads, seen);
        ++observed_;
    }
    void select(int32_t layer, std::span<const ListState> heads,
                std::vector<std::vector<uint32_t>>& dropped) override
    {
        CHECK(observed_ == (coupled_ ? 4 : 1)); // all layers if they are coupled, otherwise this one
        if (!coupled_ || layer == 3) observed_ = 0;
        dropped.assign(heads.size(), {});
        for (size_t h = 0; h < heads.size(); ++h)
            for (uint32_t rank = 0; rank + static_cast<uint32_t>(limit_) < heads[h].size(); ++rank)
                dropped[h].push_back(rank);
    }
    std::unique_ptr<Policy> clone() const override { return std::make_unique<Curious>(*this); }

private:
    SignalNeeds needs_;
    bool coupled_;
    Look look_;
    int32_t observed_ = 0;
};

SessionOptions options_for(int32_t chunk)
{
    SessionOptions options;
    options.budget = 40;
    options.chunk = chunk;
    return options;
}

} // namespace

TEST_CASE("a layer is observed before its eviction; if layers are coupled, all are observed first")
{
    const auto model = load_random();
    const bool coupled = GENERATE(false, true);
    for (const bool within : {false, true}) {
        SessionOptions options = options_for(16);
        options.stops_within_chunk = within;
        if (within && !coupled)
            continue; // sessions that stop within a chunk observe all layers first, as coupled ones do
        int32_t looks = 0;
        std::vector<int32_t> rows;
        Session session(model, options,
                        std::make_unique<Curious>(SignalNeeds{}, 40, coupled, [&](auto, auto, auto& seen) {
                            ++looks;
                            rows.push_back(seen.rows);
                        }));
        session.feed(random_text(70));
        say(session, 3);
        CHECK(looks == 4 * (5 + 3));
        CHECK(rows.front() == 16);
        CHECK(rows.back() == 1);
        CHECK(std::count(rows.begin(), rows.end(), 6) == 4);
    }
}

TEST_CASE(
    "moments agree with sums: of a single row, squares are the squared sums, and the mean over heads is the sum")
{
    const auto model = load_random();
    for (const int32_t window : {1, 8}) {
        const auto look = [&](int32_t, std::span<const ListState> heads, const LayerObservation&) {
            for (const ListState& list : heads) {
                REQUIRE(list.moments.size() == list.size() * 4);
                double total = 0;
                for (size_t j = 0; j < list.size(); ++j) {
                    const auto own = list.moments.subspan(j * 4, 4);
                    REQUIRE((own[0] + own[2]) / 2 == Approx(list.sum[j]).epsilon(1e-5).margin(1e-7));
                    for (size_t g = 0; g < 2; ++g) {
                        const double sum = own[2 * g], squares = own[2 * g + 1];
                        if (window == 1) REQUIRE(squares == Approx(sum * sum).epsilon(1e-5).margin(1e-12));
                        REQUIRE(squares <= Approx(sum).margin(1e-9)); // the probabilities are at most 1
                        total += sum;
                    }
                }
                if (window == 1) REQUIRE(total == Approx(2).epsilon(1e-4)); // one row of each query head
            }
        };
        Session session(
            model, options_for(16),
            std::make_unique<Curious>(SignalNeeds{.window = window, .head_moments = true}, 40, window == 8, look));
        session.feed(random_text(150));
        say(session, 20);
    }
}

TEST_CASE("a low row counts once per query group")
{
    const auto model = load_random();
    bool some = false;
    const auto look = [&](int32_t, std::span<const ListState> heads, const LayerObservation& seen) {
        for (const ListState& list : heads) {
            const double most = std::min(seen.rows, 4);
            for (size_t j = 0; j < list.size(); ++j) {
                REQUIRE(list.sum[j] >= 0);
                REQUIRE(list.sum[j] <= Approx(list.count[j]));
                if (seen.rows >= 4) REQUIRE(list.sum[j] <= most);
                if (seen.rows >= 4) REQUIRE(list.sum[j] == std::round(list.sum[j]));
                some = some || list.sum[j] > 0;
            }
        }
    };
    Session session(model, options_for(16),
                    std::make_unique<Curious>(SignalNeeds{.window = 4, .low_counts = true}, 40, false, look));
    session.feed(random_text(150));
    say(session, 20);
    CHECK(some);
}

TEST_CASE("row statistics are means over rows and heads, and every entry has an entropy")
{
    const auto model = load_random();
    for (const auto statistic :
         {kernels::RowStatistic::Entropy, kernels::RowStatistic::Gini, kernels::RowStatistic::Density}) {
        const auto look = [&](int32_t, std::span<const ListState> heads, const LayerObservation& seen) {
            REQUIRE(seen.row_statistic > 0);
            REQUIRE(seen.row_statistic < 1);
            REQUIRE(seen.entropies.size() == heads.size());
            for (size_t h = 0; h < heads.size(); ++h) {
                REQUIRE(seen.entropies[h].size() == heads[h].size());
                for (const float e : seen.entropies[h])
                    REQUIRE((e >= -1e-6f && e <= 8 * 2 * 0.37f)); // 8 rows, 2 heads, and -a ln a at most 1/e
            }
        };
        Session session(
            model, options_for(16),
            std::make_unique<Curious>(SignalNeeds{.window = 8, .entropies = true, .row_statistic = statistic}, 40,
                                      true, look));
        session.set_question_ids(random_text(5, 1));
        session.feed(random_text(150));
        session.finish();
    }
}

TEST_CASE("norms of keys depend on neither the type of the cache nor the chunks, and stay with their tokens")
{
    // The keys of the lowest layer depend on nothing but their tokens.
    const auto model = load_random({.head_dim = 32});
    using Norms = std::map<std::pair<size_t, uint32_t>, double>; // by head and token
    Norms expected;
    for (const kernels::DType type :
         {kernels::DType::F32, kernels::DType::F16, kernels::DType::BF16, kernels::DType::Q8_0}) {
        for (const int32_t chunk : {16, 7, 64}) {
            Norms norms;
            const auto look = [&](int32_t layer, std::span<const ListState> heads, const LayerObservation&) {
                for (size_t h = 0; layer == 0 && h < heads.size(); ++h)
                    for (size_t j = 0; j < heads[h].size(); ++j) {
                        const auto known = norms.try_emplace({h, heads[h].stream[j]}, heads[h].sum[j]).first;
                        REQUIRE(known->second == heads[h].sum[j]);
                    }
            };
            SessionOptions options = options_for(chunk);
            options.kv_type = type;
            Session session(model, options,
                            std::make_unique<Curious>(SignalNeeds{.window = SignalNeeds::all, .key_norms = true},
                                                      40, false, look));
            session.feed(random_text(150));
            session.finish();
            if (expected.empty()) expected = norms;
            CAPTURE(static_cast<int>(type), chunk);
            REQUIRE(norms.size() == 2 * 150);
            REQUIRE(norms == expected);
        }
    }
    for (const auto& [place, norm] : expected)
        REQUIRE(norm > 0);
}

TEST_CASE("an observation window in percent grows with the list")
{
    const auto model = load_random();
    std::vector<double> counts;
    const auto look = [&](int32_t layer, std::span<const ListState> heads, const LayerObservation&) {
        if (layer == 0) counts.push_back(heads[0].count[0]);
    };
    Session session(model, options_for(16),
                    std::make_unique<Curious>(SignalNeeds{.window_percent = 25}, 400, false, look));
    session.feed(random_text(48));
    // 25 % of 16, 32 and 48 tokens: fewer rows than a chunk of 16 has, so earlier chunks are forgotten.
    CHECK(counts == std::vector<double>{4, 8, 12});
}
