// Merging: an entry becomes the mean of several entries before the others are evicted.
#include <cstring>
#include <map>

#include "engine/model/forward/rope_angles.h"
#include "tests/support/catch.h"
#include "tests/support/reference_model.h"
#include "tests/unit/session/own_policy.h"
#include "tests/unit/session/session_fixture.h"

using namespace palimpsest;
using namespace palimpsest::engine;
using namespace palimpsest::tests;

namespace {

constexpr int32_t budget = 24;

// Divides a list that is too long into groups of three from the left; the middle entry becomes their mean.
class MergesThrees final : public OwnPolicy {
public:
    explicit MergesThrees(KeyMean keys) : OwnPolicy(4, 2, budget), keys_(keys), merges_(2) {}
    SignalNeeds signals() const override { return {.window = SignalNeeds::all}; }
    void select(int32_t, std::span<const ListState> heads, std::vector<std::vector<uint32_t>>& dropped) override
    {
        dropped.assign(heads.size(), {});
        for (size_t h = 0; h < heads.size(); ++h) {
            merges_[h].clear();
            auto excess = static_cast<int64_t>(heads[h].size()) - budget;
            for (uint32_t at = 0; excess > 0; at += 3, excess -= 2) {
                merges_[h].push_back({.into = at + 1, .of = {at, at + 1, at + 2}, .keys = keys_});
                dropped[h].insert(dropped[h].end(), {at, at + 2});
            }
        }
    }
    std::span<const std::vector<Merge>> merges() const override { return merges_; }
    std::unique_ptr<Policy> clone() const override { return std::make_unique<MergesThrees>(*this); }

private:
    KeyMean keys_;
    std::vector<std::vector<Merge>> merges_;
};

double largest_difference(std::span<const float> a, std::span<const double> b)
{
    REQUIRE(a.size() == b.size());
    double worst = 0;
    for (size_t i = 0; i < a.size(); ++i)
        worst = std::max(worst, std::abs(static_cast<double>(a[i]) - b[i]));
    return worst;
}

std::vector<float> row_of(const std::vector<std::byte>& rows, size_t row, size_t dim)
{
    std::vector<float> values(dim);
    std::memcpy(values.data(), rows.data() + row * dim * sizeof(float), dim * sizeof(float));
    return values;
}

// Returns the key rotated back to position 0.
std::vector<float> unrotated(std::vector<float> key, const RopeAngles& angles, uint32_t position)
{
    const std::vector<float> row = angles.table(position, 1);
    const size_t half = row.size() / 2;
    for (size_t i = 0; i < half; ++i) {
        const float a = key[i], b = key[half + i];
        key[i] = a * row[i] + b * row[half + i];
        key[half + i] = b * row[i] - a * row[half + i];
    }
    return key;
}

} // namespace

// Merges in the staging buffer, in pages and in the row of the newest token. The slow transformer keeps keys
// unrotated and merges by the definition.
TEST_CASE("merged entries are the means of keys (raw or rotated), values and statistics")
{
    const auto model = load_random();
    const auto positions = GENERATE(PositionMode::Contiguous, PositionMode::Original);
    const auto keys = GENERATE(KeyMean::Raw, KeyMean::Rotated);
    const ReferenceModel slow(model->files());
    ReferenceStream reference(slow, positions == PositionMode::Contiguous);
    const RopeAngles angles(model->config(), model->config().rope, model->config().context);
    SessionOptions options;
    options.budget = budget;
    options.chunk = 10;
    options.positions = positions;
    options.kv_type = kernels::DType::F32;
    options.rows_at_once = 1;
    Session session(model, options, std::make_unique<MergesThrees>(keys));

    std::map<std::pair<int32_t, size_t>, std::vector<double>> sums;
    session.set_observer([&](const Selection& s) {
        for (size_t h = 0; h < s.lists.size(); ++h) {
            std::vector<double> sum(s.lists[h].sum.begin(), s.lists[h].sum.end());
            for (const Merge& merge : s.merges[h]) {
                reference.merge(s.layer, static_cast<int>(h), merge.into, merge.of, keys == KeyMean::Rotated);
                sum[merge.into] = (sum[merge.of[0]] + sum[merge.of[1]] + sum[merge.of[2]]) / 3;
            }
            reference.drop(s.layer, static_cast<int>(h), s.dropped[h]);
            for (auto gone = s.dropped[h].rbegin(); gone != s.dropped[h].rend(); ++gone)
                sum.erase(sum.begin() + *gone);
            sums[{s.layer, h}] = sum;
        }
    });
    const auto compare = [&](const std::vector<double>& logits) {
        double largest = 0;
        for (const double x : logits)
            largest = std::max(largest, std::abs(x));
        CHECK(largest_difference(session.logits(), logits) <= 5e-4 * largest);
        const SessionState state = session.state();
        const auto dim = static_cast<size_t>(model->config().head_dim);
        for (int32_t l = 0; l < 4; ++l)
            for (size_t h = 0; h < 2; ++h) {
                const ListAtRest& list = state.lists[static_cast<size_t>(l) * 2 + h];
                const auto& expected = reference.list(l, static_cast<int>(h));
                REQUIRE(list.tokens.size() == expected.size());
                CHECK(list.tokens.sum == sums[{l, h}]);
                for (size_t rank = 0; rank < expected.size(); ++rank) {
                    REQUIRE(list.tokens.stream[rank] == expected[rank].stream);
                    std::vector<float> key = row_of(list.keys, rank, dim);
                    if (positions == PositionMode::Original) key = unrotated(key, angles, list.tokens.stream[rank]);
                    CHECK(largest_difference(key, expected[rank].key) < 2e-3);
                    CHECK(largest_difference(row_of(list.values, rank, dim), expected[rank].value) < 2e-3);
                }
            }
    };
    for (uint64_t i = 0; i < 8; ++i) {
        const auto tokens = random_text(10, i);
        const auto expected =
            reference.feed(tokens); // before session.feed(), whose observer drops entries of the reference
        session.feed(tokens);
        compare(expected);
    }
    for (int i = 0; i < 12; ++i) {
        const auto& logits = session.logits();
        const auto next = static_cast<TokenId>(std::max_element(logits.begin(), logits.end()) - logits.begin());
        const auto expected = reference.feed({&next, 1});
        REQUIRE(say(session, 1) == std::vector{next});
        compare(expected);
    }
}

TEST_CASE("a session whose policy merges continues bit for bit from a fork and a state")
{
    const auto model = load_random();
    SessionOptions options;
    options.budget = budget;
    options.chunk = 10;
    Session session(model, options, std::make_unique<MergesThrees>(KeyMean::Raw));
    session.feed(random_text(95));
    say(session, 7);
    const auto fork = session.fork();
    const auto restored = Session::restore(model, session.state(), std::make_unique<MergesThrees>(KeyMean::Raw));
    const Outcome expected = outcome_of(session, 60);
    CHECK(outcome_of(*fork, 60) == expected);
    CHECK(outcome_of(*restored, 60) == expected);
}
