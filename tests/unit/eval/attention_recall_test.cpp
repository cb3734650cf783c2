// The share of the full attention that policies hold: against attention in float64 with plain loops, and where it
// is known without computing it.
#include "engine/eval/attention_recall.h"

#include <algorithm>
#include <filesystem>
#include <numeric>

#include "engine/eval/full_session.h"
#include "engine/model/files/open_model.h"
#include "engine/policy/named/registry.h"
#include "tests/support/catch.h"
#include "tests/support/reference_model.h"
#include "tests/support/selecting_backend.h"
#include "tests/unit/session/session_fixture.h"

using namespace palimpsest;
using namespace palimpsest::engine;
using namespace palimpsest::tests;

namespace {

constexpr int32_t rows = 8, chunk = 16;

SessionOptions options_for(const std::string& policy, int32_t budget)
{
    SessionOptions options;
    options.policy = PolicySpec::parse(policy);
    options.budget = policy == "full" ? no_budget : budget;
    options.chunk = chunk;
    options.kv_type = kernels::DType::F32;
    return options;
}

std::vector<AttentionProbe> probes_of(const std::shared_ptr<const Model>& model, std::span<const TokenId> text,
                                      int32_t count)
{
    const auto full = full_session(model, options_for("full", 0), text.size(), {.window = rows});
    return *probe_attention(*full, text, probe_places(text.size(), chunk, rows, count), {});
}

AttentionRecall recall_of(const std::shared_ptr<const Model>& model, std::span<const TokenId> text,
                          const std::string& policy, int32_t budget, std::span<const AttentionProbe> probes)
{
    Session session(model, options_for(policy, budget));
    return *attention_recall(session, text, probes, {});
}

// Mean over the lists of layers that are not local.
double held(const AttentionRecall& recall)
{
    const size_t heads = recall.lists.size() / recall.local.size();
    double sum = 0, lists = 0;
    for (size_t i = 0; i < recall.lists.size(); ++i) {
        if (recall.local[i / heads]) continue;
        sum += recall.lists[i].held;
        ++lists;
    }
    return sum / lists;
}

// Mass that rows [first, first + rows) of a text give to each of its tokens in each list, in float64.
std::vector<std::vector<double>> slow_attention(const ReferenceModel& model, std::span<const TokenId> text,
                                                uint64_t first)
{
    const ModelConfig& c = model.config();
    std::vector<std::vector<double>> received(static_cast<size_t>(c.layers * c.kv_heads),
                                              std::vector<double>(first + rows));
    ReferenceStream stream(model, true);
    stream.feed(text.first(first + rows), [&](int layer, int head, int row, const auto& attention) {
        if (static_cast<uint64_t>(row) < first) return;
        for (const auto& of_head : attention)
            for (size_t i = 0; i < of_head.size(); ++i)
                received[static_cast<size_t>(layer * c.kv_heads + head)][i] +=
                    of_head[i] / static_cast<double>(attention.size());
    });
    return received;
}

} // namespace

TEST_CASE("the attention that is compared with, and the shares of it, are those of a slow model")
{
    const auto shape = GENERATE(RandomModelShape{.layers = 2},
                                RandomModelShape{.layers = 2, .architecture = "gemma2", .window = 40},
                                RandomModelShape{.layers = 2, .original_context = 150});
    CAPTURE(shape.architecture, shape.original_context);
    const auto path = random_model(shape);
    const ReferenceModel slow(open_model(path));
    const auto model = Model::load(path, kernels::open_backend({.device = "cpu", .threads = 2, .simd = ""}));
    std::filesystem::remove(path); // stays mapped
    const auto text = random_text(150);
    const auto probes = probes_of(model, text, 3);
    REQUIRE(probes.size() == 3);
    CHECK((probes[0].tokens == 48 && probes[1].tokens == 96 && probes[2].tokens == 142));

    Session session(model, options_for("h2o", 24));
    const AttentionRecall fast = *attention_recall(session, text, probes, {});
    Session again(model, options_for("h2o", 24));
    std::vector<AttentionShare> lists(fast.lists.size());
    for (size_t p = 0; p < probes.size(); ++p) {
        const auto expected = slow_attention(slow, text, probes[p].tokens);
        const uint64_t from = p == 0 ? 0 : probes[p - 1].tokens;
        again.feed(std::span(text).subspan(from, probes[p].tokens - from));
        if (p == 2) again.finish();
        const RetentionMap kept = again.retention();
        AttentionShare mean;
        for (size_t i = 0; i < expected.size(); ++i) {
            REQUIRE(probes[p].received[i].size() == expected[i].size());
            for (size_t t = 0; t < expected[i].size(); ++t)
                REQUIRE(static_cast<double>(probes[p].received[i][t]) == Approx(expected[i][t]).margin(1e-4));
            std::vector<double> older(expected[i].begin(), expected[i].end() - rows);
            double own = std::accumulate(expected[i].end() - rows, expected[i].end(), 0.0);
            double holds = own, best = own;
            for (const uint32_t token : kept.tokens[i])
                holds += older[token];
            std::sort(older.rbegin(), older.rend());
            for (size_t k = 0; k < kept.tokens[i].size(); ++k)
                best += older[k];
            lists[i].held += holds / rows / 3;
            lists[i].best += best / rows / 3;
            mean.held += holds / rows / static_cast<double>(expected.size());
            mean.best += best / rows / static_cast<double>(expected.size());
        }
        CHECK(fast.places[p].has_evicted);
        CHECK(fast.places[p].share.held == Approx(mean.held).margin(1e-4));
        CHECK(fast.places[p].share.best == Approx(mean.best).margin(1e-4));
    }
    for (size_t i = 0; i < lists.size(); ++i) {
        CHECK(fast.lists[i].held == Approx(lists[i].held).margin(1e-4));
        CHECK(fast.lists[i].best == Approx(lists[i].best).margin(1e-4));
    }
    CHECK(held(fast) < 0.99);
}

TEST_CASE("lists that hold everything hold all attention")
{
    const auto model = load_random();
    const auto text = random_text(150);
    const auto probes = probes_of(model, text, 4);
    const auto [policy, budget] =
        GENERATE(std::pair{"full", 0}, std::pair{"treekv", 150}, std::pair{"streaming", 150});
    const AttentionRecall recall = recall_of(model, text, policy, budget, probes);
    for (const PlaceRecall& place : recall.places) {
        CHECK_FALSE(place.has_evicted);
        CHECK(place.share.held == Approx(1).epsilon(1e-12));
        CHECK(place.share.best == Approx(1).epsilon(1e-12));
    }
    CHECK(recall.evicted == 0);
}

TEST_CASE("means are those of the places at which something was evicted")
{
    const auto model = load_random();
    const auto text = random_text(150);
    const auto probes = probes_of(model, text, 4); // after 32, 64, 96 and 142 tokens
    const AttentionRecall all = recall_of(model, text, "streaming:sinks=3", 70, probes);
    const AttentionRecall late =
        recall_of(model, text, "streaming:sinks=3", 70, std::span(probes).subspan(2)); // those after the budget
    CHECK((all.evicted == 2 && late.evicted == 2));
    CHECK((!all.places[1].has_evicted && all.places[2].has_evicted));
    for (size_t i = 0; i < all.lists.size(); ++i) {
        CHECK(all.lists[i].held == Approx(late.lists[i].held).epsilon(1e-12));
        CHECK(all.lists[i].best == Approx(late.lists[i].best).epsilon(1e-12));
    }
    for (size_t i = 0; i < all.by_distance.size(); ++i)
        CHECK(all.by_distance[i].held == Approx(late.by_distance[i].held).margin(1e-12));
    CHECK(held(all) == Approx((all.places[2].share.held + all.places[3].share.held) / 2).epsilon(1e-12));
    CHECK(held(all) < 0.99);
}

TEST_CASE("local layers are marked, and enter no mean over lists")
{
    const auto model = load_random({.layers = 4, .architecture = "gemma2", .window = 16});
    const auto text = random_text(150);
    const auto probes = probes_of(model, text, 3);
    Session session(model, options_for("streaming:sinks=3", 40));
    const AttentionRecall recall = *attention_recall(session, text, probes, {});
    const auto heads = static_cast<size_t>(model->config().kv_heads);
    for (int32_t layer = 0; layer < 4; ++layer)
        CHECK(recall.local[static_cast<size_t>(layer)] == !session.policy().watches(layer));
    CHECK(std::ranges::count(recall.local, true) == 2);
    double of_places = 0, of_distances = 0, of_all = 0;
    for (const PlaceRecall& place : recall.places)
        of_places += place.share.held / 3;
    for (const AttentionAtDistance& at : recall.by_distance)
        of_distances += at.held;
    for (size_t i = 0; i < recall.lists.size(); ++i) {
        if (recall.local[i / heads]) CHECK(recall.lists[i].held == Approx(1).epsilon(1e-6)); // of their window
        of_all += recall.lists[i].held / static_cast<double>(recall.lists.size());
    }
    CHECK(recall.evicted == 3);
    CHECK(of_places == Approx(held(recall)).epsilon(1e-12));
    CHECK(of_distances == Approx(held(recall)).epsilon(1e-12));
    CHECK(held(recall) < of_all - 0.01);
}

TEST_CASE("streaming holds the attention on the first and the newest tokens, at their distances")
{
    const auto model = load_random();
    const auto text = random_text(150);
    const auto probes = probes_of(model, text, 1);
    const AttentionRecall recall = recall_of(model, text, "streaming:sinks=3", 20, probes);
    std::array<AttentionAtDistance, 8> by_distance{};
    for (size_t i = 0; i < recall.lists.size(); ++i) {
        const std::vector<float>& received = probes[0].received[i];
        double expected = 0;
        for (size_t token = 0; token < received.size(); ++token) {
            const size_t bin = token >= 142 ? 0 : token >= 142 - 16 ? 1 : token >= 142 - 64 ? 2 : 3;
            const double share = static_cast<double>(received[token]) / rows;
            by_distance[bin].all += share / static_cast<double>(recall.lists.size());
            if (token >= 3 && token < 142 - 17) continue;
            expected += share;
            by_distance[bin].held += share / static_cast<double>(recall.lists.size());
        }
        CHECK(recall.lists[i].held == Approx(expected).epsilon(1e-5));
    }
    for (size_t bin = 0; bin < by_distance.size(); ++bin) {
        CHECK(recall.by_distance[bin].all == Approx(by_distance[bin].all).margin(1e-5));
        CHECK(recall.by_distance[bin].held == Approx(by_distance[bin].held).margin(1e-5));
    }
    CHECK((by_distance[2].held > 0 && by_distance[2].held < by_distance[2].all)); // the 17th token back
}

TEST_CASE("no policy holds more than the best lists of its lengths, and distances divide what it holds")
{
    const auto model = load_random();
    const auto text = random_text(200);
    const auto probes = probes_of(model, text, 4);
    for (const PolicyInfo& policy : policies()) {
        CAPTURE(policy.name);
        const AttentionRecall recall = recall_of(model, text, std::string(policy.name), 64, probes);
        std::vector<AttentionShare> shares = recall.lists;
        if (recall.evicted == 0) shares.clear();
        for (const PlaceRecall& place : recall.places)
            shares.push_back(place.share);
        for (const AttentionShare& share : shares) {
            CHECK(share.held <= share.best + 1e-12);
            CHECK((share.held > 0 && share.best <= 1 + 1e-12));
        }
        if (recall.evicted == 0) continue;
        double all = 0, of_distances = 0;
        for (const AttentionAtDistance& at : recall.by_distance) {
            CHECK(at.held <= at.all + 1e-12);
            all += at.all;
            of_distances += at.held;
        }
        CHECK(all == Approx(1).epsilon(1e-12));
        CHECK(of_distances == Approx(held(recall)).epsilon(1e-12));
    }
}

TEST_CASE("a policy that evicts once is measured before and after it has")
{
    const auto model = load_random();
    const auto text = random_text(200);
    const auto recall = recall_of(model, text, "snapkv:schedule=once", 40, probes_of(model, text, 4));
    REQUIRE(recall.places.size() == 4);
    for (size_t p = 0; p < 3; ++p)
        CHECK(recall.places[p].share.held == Approx(1).epsilon(1e-12));
    CHECK(recall.places[3].share.held < 0.99);
    CHECK(recall.places[3].share.best < 0.999);
    CHECK(recall.evicted == 1);
    CHECK(held(recall) == Approx(recall.places[3].share.held).epsilon(1e-12));
}

TEST_CASE("a policy holds the same attention where the device evicts")
{
    SelectingBackendUse use;
    const auto path = random_model({});
    const auto host = Model::load(path, kernels::open_backend({.device = "cpu", .threads = 2, .simd = ""}));
    const auto device = Model::load(path, open_selecting_backend(2, use));
    std::filesystem::remove(path); // stays mapped
    const auto text = random_text(200);
    const auto probes = probes_of(host, text, 4), probes_of_device = probes_of(device, text, 4);
    REQUIRE(probes_of_device.size() == probes.size());
    for (size_t p = 0; p < probes.size(); ++p)
        CHECK(probes_of_device[p].received == probes[p].received);
    for (const char* policy : {"treekv", "streaming", "h2o"}) {
        CAPTURE(policy);
        const int64_t evictions = use.evictions;
        const AttentionRecall expected = recall_of(host, text, policy, 48, probes);
        const AttentionRecall is = recall_of(device, text, policy, 48, probes);
        CHECK(use.evictions > evictions);
        for (size_t i = 0; i < is.lists.size(); ++i)
            CHECK(is.lists[i].held == expected.lists[i].held);
    }
}

TEST_CASE("probes are ends of chunks spread over a text, and its end")
{
    using Places = std::vector<uint64_t>;
    CHECK(probe_places(150, 16, 8, 1) == Places{142});
    CHECK(probe_places(150, 16, 8, 4) == Places{32, 64, 96, 142});
    CHECK(probe_places(60, 16, 8, 100) == Places{16, 32, 52}); // 48 is nearer to the end than its rows need
    CHECK(probe_places(9, 16, 8, 3) == Places{1});
    CHECK(probe_places(56, 16, 16, 3) == Places{16, 40});
    CHECK(probe_places(4096, 512, 16, 8) == Places{512, 1024, 1536, 2048, 2560, 3072, 3584, 4080});
    CHECK(probe_places(4096, 512, 16, 1000).size() == 8);
}

TEST_CASE("probes take four bytes for each token before them and list, beside the session's own memory")
{
    const auto model = load_random(); // 4 layers of 2 heads
    const auto bytes = [&](size_t tokens, const std::vector<uint64_t>& places) {
        return bytes_to_probe(*model, options_for("full", 0), tokens, places, rows);
    };
    CHECK(bytes(150, {32, 64, 142}) - bytes(150, {142}) == 4 * 8 * (32 + 64 + 2 * rows));
    CHECK(bytes(150, {142}) > 4 * 8 * 150);
    const uint64_t more = bytes(2000, {1000}) - bytes(1000, {900}) - uint64_t{4 * 8 * 100};
    CHECK(more >= uint64_t{1000} * 8 * 2 * 8 * 4); // keys and values of 8 numbers in F32
}

TEST_CASE("a stopped measurement of attention has no result")
{
    const auto model = load_random();
    const auto text = random_text(150);
    std::stop_source stop;
    stop.request_stop();
    const FeedOptions stopped{.stop = stop.get_token(), .progress = {}, .loss = {}};
    const auto full = full_session(model, options_for("full", 0), text.size(), {.window = rows});
    CHECK_FALSE(probe_attention(*full, text, probe_places(150, chunk, rows, 2), stopped));
    Session session(model, options_for("treekv", 40));
    CHECK_FALSE(attention_recall(session, text, probes_of(model, text, 2), stopped));
}
