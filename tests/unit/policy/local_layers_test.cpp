// Policies of models with local layers: in a layer whose window fits the budget, the window replaces the policy.
#include <numeric>
#include <random>

#include "engine/policy/named/local_layers.h"
#include "engine/policy/named/registry.h"
#include "kernels/base/error.h"
#include "tests/support/catch.h"

using namespace palimpsest;
using namespace palimpsest::engine;

namespace {

constexpr int32_t kv_heads = 2, budget = 64;
// Layers 1 and 4 are global; the window of layer 3 is larger than the budget.
const std::vector<int32_t> windows = {24, 0, 64, 100, 0};

PolicyContext context_of(int32_t layers)
{
    return {.layers = layers, .kv_heads = kv_heads, .budget = budget, .context = 4096, .chunk = 16};
}

std::unique_ptr<Policy> local(const std::string& spec, PositionMode positions = PositionMode::Contiguous)
{
    return make_policy(PolicySpec::parse(spec), context_of(5), windows, positions);
}

// The lists of one layer, with random attention.
class Lists {
public:
    explicit Lists(uint64_t seed) : random_(seed) {}

    void append(uint32_t rows)
    {
        for (auto& list : lists_)
            for (uint32_t i = 0; i < rows; ++i) {
                list.stream.push_back(next_ + i);
                list.sum.push_back(0);
                list.count.push_back(0);
            }
        next_ += rows;
        for (auto& list : lists_)
            for (size_t i = 0; i < list.stream.size(); ++i) {
                list.sum[i] += static_cast<double>(random_() % 1000) / 1000.0;
                list.count[i] += 1;
            }
    }
    std::vector<ListState> states() const
    {
        std::vector<ListState> states;
        for (const auto& list : lists_)
            states.push_back({.stream = list.stream, .sum = list.sum, .count = list.count});
        return states;
    }
    void drop(const std::vector<std::vector<uint32_t>>& dropped)
    {
        for (size_t h = 0; h < lists_.size(); ++h)
            for (auto rank = dropped[h].rbegin(); rank != dropped[h].rend(); ++rank) {
                const auto at = static_cast<std::ptrdiff_t>(*rank);
                lists_[h].stream.erase(lists_[h].stream.begin() + at);
                lists_[h].sum.erase(lists_[h].sum.begin() + at);
                lists_[h].count.erase(lists_[h].count.begin() + at);
            }
    }
    const std::vector<uint32_t>& stream(size_t head) const { return lists_[head].stream; }
    uint32_t seen() const { return next_; }

private:
    struct List {
        std::vector<uint32_t> stream;
        std::vector<double> sum, count;
    };
    std::mt19937_64 random_;
    std::vector<List> lists_ = std::vector<List>(kv_heads);
    uint32_t next_ = 0;
};

std::vector<uint32_t> last(uint32_t seen, uint32_t count)
{
    std::vector<uint32_t> tokens(std::min(seen, count));
    std::iota(tokens.begin(), tokens.end(), seen - static_cast<uint32_t>(tokens.size()));
    return tokens;
}

} // namespace

TEST_CASE("a layer whose window fits the budget keeps its window under every policy, which evicts in the other "
          "layers only")
{
    for (const std::string spec : {"streaming", "treekv", "pyramidkv", "h2o", "tova", "cake", "adakv"}) {
        CAPTURE(spec);
        auto policy = local(spec);
        auto alone = make_policy(PolicySpec::parse(spec), context_of(3)); // the policy for layers 1, 3 and 4 alone
        const std::vector<int32_t> numbers = {-1, 0, -1, 1, 2};
        std::vector<Lists> lists;
        for (uint64_t l = 0; l < 5; ++l)
            lists.emplace_back(l);
        const LayerObservation seen{.rows = 16};
        std::vector<std::vector<uint32_t>> dropped, expected;
        for (int step = 0; step < 20; ++step) {
            for (Lists& layer : lists)
                layer.append(16);
            for (int32_t l = 0; l < 5; ++l) {
                const auto states = lists[static_cast<size_t>(l)].states();
                policy->observe(l, states, seen);
                if (numbers[static_cast<size_t>(l)] >= 0)
                    alone->observe(numbers[static_cast<size_t>(l)], states, seen);
            }
            for (int32_t l = 0; l < 5; ++l) {
                Lists& layer = lists[static_cast<size_t>(l)];
                policy->select(l, layer.states(), dropped);
                if (const int32_t number = numbers[static_cast<size_t>(l)]; number >= 0) {
                    alone->select(number, layer.states(), expected);
                    CHECK(dropped == expected);
                }
                layer.drop(dropped);
            }
            for (size_t h = 0; h < kv_heads; ++h) {
                CHECK(lists[0].stream(h) == last(lists[0].seen(), 24));
                CHECK(lists[2].stream(h) == last(lists[2].seen(), 64));
            }
        }
        CHECK(policy->state() == alone->state());
        auto copy = policy->clone();
        CHECK(copy->state() == policy->state());
        auto restored = local(spec);
        restored->restore(policy->state());
        CHECK(restored->state() == policy->state());
        CHECK(policy->list_budget(0, 0) == 24);
        CHECK(policy->list_budget(2, 1) == 64);
        CHECK(policy->list_budget(3, 1) == alone->list_budget(1, 1));
        CHECK(policy->total_budget() == alone->total_budget() + kv_heads * (24 + 64));
        CHECK_FALSE(policy->watches(0));
        CHECK(policy->watches(3));
        CHECK(policy->resolved() == alone->resolved());
    }
}

TEST_CASE("a plan evicts what select() evicts, in local layers too")
{
    auto selects = local("streaming"), plans = local("streaming");
    REQUIRE(plans->plans());
    std::vector<std::vector<uint32_t>> dropped;
    EvictionPlan plan;
    for (int32_t l = 0; l < 5; ++l) {
        Lists lists(1);
        lists.append(200);
        selects->select(l, lists.states(), dropped);
        const std::vector<uint32_t> sizes = {200, 200};
        plans->plan(l, sizes, {}, plan);
        std::vector<uint32_t> words(plan.words());
        plan.write(words.data());
        for (size_t h = 0; h < kv_heads; ++h) {
            const kernels::ListPlan& list = plan.list(h);
            REQUIRE(list.evicted == dropped[h].size());
            CHECK(std::equal(dropped[h].begin(), dropped[h].end(), words.begin() + list.data));
        }
        if (windows[static_cast<size_t>(l)] == 24) CHECK(plan.list(0).given == 1);
    }
}

TEST_CASE("with original positions a window beyond the budget is cut to the last tokens")
{
    const auto contiguous = local("h2o"), original = local("h2o", PositionMode::Original);
    CHECK(contiguous->watches(3));
    CHECK_FALSE(original->watches(3));
    CHECK(original->list_budget(3, 0) == budget);
    CHECK(original->watches(4));
}

TEST_CASE("a policy that keeps everything is unbounded only where there is no window")
{
    const auto full = local("full");
    CHECK_FALSE(full->bounded());
    CHECK(full->layer_bounded(0));
    CHECK_FALSE(full->layer_bounded(1));
    CHECK_FALSE(full->layer_bounded(3)); // its capacity is smaller than the window
    CHECK(full->capacity() == budget);

    const auto all_local =
        make_policy(PolicySpec::parse("full"), context_of(2), std::vector<int32_t>{8, 8}, PositionMode::Contiguous);
    CHECK(all_local->bounded());
    CHECK(all_local->total_budget() == 2 * kv_heads * 8);
    CHECK(all_local->state().empty());
    CHECK_NOTHROW(all_local->clone()->restore({}));
    const std::vector<std::byte> some(4);
    CHECK_THROWS_AS(all_local->restore(some), Error);
}

TEST_CASE("a retrieval policy keeps whole windows in local layers and reads all of them")
{
    const auto quest = local("quest:skip_layers=1");
    const auto how = quest->retrieval();
    REQUIRE(how);
    std::vector<bool> parts;
    for (int32_t l = 0; l < 5; ++l)
        parts.push_back(how->reads_part_of(l));
    CHECK(parts ==
          std::vector<bool>{false, false, false, false, true}); // skip_layers=1 skips the first global layer
    CHECK(quest->list_budget(3, 0) == 100);
    CHECK(quest->list_budget(4, 0) == 4096);
}

TEST_CASE("in a model without windows the policy is not wrapped")
{
    const auto policy =
        make_policy(PolicySpec::parse("treekv"), context_of(3), std::vector<int32_t>(3, 0), PositionMode::Original);
    CHECK(policy->total_budget() == make_policy(PolicySpec::parse("treekv"), context_of(3))->total_budget());
    CHECK_THROWS_AS(local("no-such-policy"), Error);
    CHECK_THROWS_AS(local("streaming:sinks=65"), Error);
}
