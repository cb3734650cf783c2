// Ragged lists that share a pool of pages: no page is lost, the lists together never use more slots than
// allowed, and results are bit for bit the same whichever row a token occupies.
#include <random>

#include "engine/cache/host_lists.h"
#include "tests/support/catch.h"
#include "tests/support/reference_model.h"
#include "tests/unit/session/own_policy.h"
#include "tests/unit/session/session_fixture.h"

using namespace palimpsest;
using namespace palimpsest::engine;
using namespace palimpsest::tests;

namespace {

constexpr int32_t layers = 4, kv_heads = 2, limit = 700, staged = 48;
constexpr int64_t total = 8 * 130;

CacheShape shape_for(const Model& model, bool every_layer, int64_t slots)
{
    return {.layers = layers,
            .heads = model.head_shape(),
            .type = kernels::DType::F16,
            .staged_rows = staged,
            .stage_every_layer = every_layer,
            .with_signals = false,
            .moments_each = 0,
            .list_budget = std::vector<int32_t>(layers * kv_heads, limit),
            .total_slots = slots};
}

// A cache with lists, a forward pass and a policy, without a session around them.
class Stream final : public LayerEviction {
public:
    Stream(const Model& model, bool coupled, int64_t slots, uint64_t seed)
        : policy_(layers, kv_heads, limit, total, coupled, seed),
          cache(shape_for(model, coupled, slots), model.backend()), lists(cache.shape()),
          forward_(model, {.positions = PositionMode::Contiguous,
                           .max_rows = staged,
                           .max_ranks = limit + staged,
                           .layers_first = coupled,
                           .couples_layers = coupled})
    {
    }

    std::vector<float> prefill(std::span<const TokenId> tokens)
    {
        const std::vector<int32_t> rows{static_cast<int32_t>(tokens.size())};
        forward_.prefill(tokens, rows, seen_, {}, cache, *this);
        seen_ += tokens.size();
        return logits();
    }
    std::vector<float> decode(TokenId token)
    {
        forward_.decode(token, seen_++, cache, *this);
        return logits();
    }
    void evict(std::span<const AttendedLayer> attended, int32_t, kernels::Phase phase) override
    {
        for (const AttendedLayer& a : attended) {
            lists.append(a.layer, a.first, a.rows);
            look_at(a.layer);
            policy_.observe(a.layer, states_, {});
        }
        for (const AttendedLayer& a : attended) {
            look_at(a.layer);
            policy_.select(a.layer, states_, dropped_);
            if (phase == kernels::Phase::Prefill)
                lists.evict_chunk(a.layer, dropped_, cache);
            else
                lists.evict_token(a.layer, dropped_, cache);
        }
        for (const AttendedLayer& a : attended)
            if (phase == kernels::Phase::Prefill) lists.move_in_chunk(a.layer, cache);
    }
    void check_lists() const
    {
        REQUIRE(cache.consistent());
        for (int32_t l = 0; l < layers; ++l)
            for (int32_t h = 0; h < kv_heads; ++h)
                REQUIRE(lists.list(l, h).size() == static_cast<size_t>(cache.used(l, h)));
    }
    void check() const
    {
        check_lists();
        REQUIRE(cache.slots_used() <= total);
    }
    size_t allocated_bytes() const { return cache.allocated_bytes() + lists.allocated_bytes(); }

private:
    void look_at(int32_t layer)
    {
        states_.clear();
        for (int32_t h = 0; h < kv_heads; ++h)
            states_.push_back({lists.list(layer, h).stream, {}, {}});
    }
    std::vector<float> logits()
    {
        std::vector<float> values;
        forward_.last_logits(values);
        return values;
    }

    RandomShares policy_;

public:
    KvCache cache;
    HostLists lists;

private:
    Transformer forward_;
    uint64_t seen_ = 0;
    std::vector<ListState> states_;
    std::vector<std::vector<uint32_t>> dropped_;
};

} // namespace

TEST_CASE("lists that share a pool give the same bits as lists that do not, and no page is lost")
{
    const auto model = load_random({.context = 2048});
    const bool coupled = GENERATE(false, true);
    for (uint64_t seed = 1; seed <= 6; ++seed) {
        CAPTURE(coupled, seed);
        Stream shared(*model, coupled, total, seed);
        Stream separate(*model, coupled, int64_t{layers} * kv_heads * limit, seed);
        REQUIRE(shared.allocated_bytes() < separate.allocated_bytes());
        const size_t allocated = shared.allocated_bytes();
        std::mt19937_64 random(seed);
        for (int i = 0; i < 40; ++i) {
            const auto tokens = random_text(1 + random() % staged, random());
            if (random() % 3 == 0) {
                for (const TokenId token : tokens) {
                    REQUIRE(shared.decode(token) == separate.decode(token));
                    shared.check();
                }
            } else {
                REQUIRE(shared.prefill(tokens) == separate.prefill(tokens));
                shared.check();
            }
            if (i == 20) {
                shared.cache = shared.cache.clone();
                shared.lists = shared.lists.clone();
                shared.check();
            }
        }
        separate.check_lists();
        CHECK(shared.allocated_bytes() <= allocated + 4096); // only the lists of dropped ranks grow
        for (int32_t l = 0; l < layers; ++l)
            for (int32_t h = 0; h < kv_heads; ++h)
                REQUIRE(shared.lists.list(l, h).stream == separate.lists.list(l, h).stream);
    }
}

TEST_CASE("a copy has the rows of separate lists that decoding has scattered over more pages than they need")
{
    const auto model = load_random({.context = 2048});
    const auto pages = [](int64_t rows) { return (rows + kernels::page_rows - 1) / kernels::page_rows; };
    Stream stream(*model, false, int64_t{layers} * kv_heads * limit, 5);
    for (uint64_t i = 0; i < 8; ++i)
        stream.prefill(random_text(staged, i));
    std::vector<int32_t> longest(stream.cache.used().begin(), stream.cache.used().end());
    int scattered = 0; // copies of lists that need fewer pages than they had at their longest
    for (const TokenId token : random_text(40)) {
        stream.decode(token);
        KvCache copy = stream.cache.clone();
        REQUIRE(copy.consistent());
        for (int32_t l = 0; l < layers; ++l)
            for (int32_t h = 0; h < kv_heads; ++h) {
                std::vector<std::byte> keys[2], values[2];
                stream.cache.read(l, h, keys[0], values[0]);
                copy.read(l, h, keys[1], values[1]);
                REQUIRE(keys[0] == keys[1]);
                REQUIRE(values[0] == values[1]);
                int32_t& most = longest[stream.cache.shape().list_at(l, h)];
                scattered += pages(stream.cache.used(l, h)) < pages(most) ? 1 : 0;
                most = std::max(most, stream.cache.used(l, h));
            }
    }
    CHECK(scattered > 0);
}

TEST_CASE("a shared pool has the pages of the total of its lists and no more")
{
    const auto model = load_random({.context = 2048});
    const auto bytes = [&](int64_t slots) {
        return KvCache(shape_for(*model, false, slots), model->backend()).allocated_bytes();
    };
    const auto row = static_cast<size_t>(2 * kernels::row_bytes(kernels::DType::F16, model->head_shape().head_dim));
    const size_t own = layers * kv_heads * size_t{(limit + 1 + 63) / 64};
    const size_t pooled = total / 64 + layers * kv_heads;
    const auto of_pool = [&](size_t pages) { return pages * 64 * row + (pages + 63) / 64 * sizeof(uint64_t); };
    CHECK(bytes(layers * kv_heads * limit) - bytes(total) == of_pool(own) - of_pool(pooled));
}

TEST_CASE("the number of displaced rows of a cache is that of the layer that evicted most")
{
    const auto model = load_random({.context = 2048});
    KvCache cache(shape_for(*model, false, total), model->backend());
    HostLists lists(cache.shape());
    const std::vector<std::vector<uint32_t>> none(kv_heads), oldest(kv_heads, {0});
    for (uint32_t token = 0; token < 6; ++token) {
        cache.reserve_token();
        for (int32_t l = 0; l < layers; ++l) {
            lists.append(l, token, 1);
            lists.evict_token(l, l == 2 || (l == 1 && token == 0) ? oldest : none, cache);
        }
    }
    CHECK(cache.displaced() == 6);
    CHECK(cache.clone().displaced() == 6);
    cache.defragment();
    CHECK(cache.displaced() == 0);
    CHECK(cache.used(0, 1) == 6);
    CHECK(cache.used(2, 1) == 0);
}

TEST_CASE("tokens keep their bits in a cache of another shape")
{
    const auto model = load_random({.context = 2048});
    Stream stream(*model, true, total, 3), moved(*model, true, total, 3);
    for (Stream* s : {&stream, &moved}) {
        for (uint64_t i = 0; i < 30; ++i)
            s->prefill(random_text(staged, i));
        for (const TokenId token : random_text(20))
            s->decode(token);
    }
    CacheShape wider = moved.cache.shape();
    wider.staged_rows += 16;
    wider.list_budget[3] += 100;
    HostLists lists(wider);
    for (int32_t l = 0; l < layers; ++l)
        for (int32_t h = 0; h < kv_heads; ++h)
            lists.write(l, h, moved.lists.tokens(l, h));
    moved.cache = moved.cache.reshaped(wider);
    moved.lists = std::move(lists);
    moved.check();
    for (const TokenId token : random_text(20, 9))
        CHECK(stream.decode(token) == moved.decode(token));
}

TEST_CASE("sessions with shared lists give the same bits from a state, from a fork, and if chunks can be stopped")
{
    const auto model = load_random({.context = 2048});
    const bool coupled = GENERATE(false, true);
    CAPTURE(coupled);
    const auto policy = [&] { return std::make_unique<RandomShares>(layers, kv_heads, limit, total, coupled, 11); };
    SessionOptions options;
    options.budget = 130;
    options.chunk = staged;
    const auto start = [&](bool within) {
        options.stops_within_chunk = within;
        return std::make_unique<Session>(model, options, policy());
    };
    const auto whole = start(false), within = start(true), cut = start(false);
    const auto tokens = random_text(700);
    for (Session* session : {whole.get(), within.get()})
        session->feed(tokens);
    const Outcome expected = outcome_of(*whole);
    CHECK(outcome_of(*within) == expected);

    cut->feed(std::span(tokens).first(400));
    auto on = Session::restore(model, cut->state(), policy());
    on->feed(std::span(tokens).subspan(400));
    CHECK(outcome_of(*on) == expected);
    const auto again = Session::restore(model, on->state(), policy()); // in the middle of an answer
    const auto fork = on->fork();
    const Outcome later = outcome_of(*on, 70);
    CHECK(outcome_of(*fork, 70) == later);
    CHECK(outcome_of(*again, 70) == later);

    // A state whose lists hold more than the policy allows in total.
    SessionState state = cut->state();
    ListAtRest longest = state.lists[0];
    for (const ListAtRest& other : state.lists)
        if (other.tokens.size() > longest.tokens.size()) longest = other;
    for (ListAtRest& other : state.lists)
        other = longest;
    CHECK_THROWS_WITH(Session::restore(model, state, policy()), Catch::Contains("PAL-SNAP-02"));
}

TEST_CASE("attention over ragged lists agrees with a slow transformer that evicted the same tokens")
{
    const auto model = load_random({.context = 2048});
    const bool coupled = GENERATE(false, true);
    const auto positions = GENERATE(PositionMode::Contiguous, PositionMode::Original);
    const ReferenceModel slow(model->files());
    ReferenceStream reference(slow, positions == PositionMode::Contiguous);
    SessionOptions options;
    options.budget = 40;
    options.chunk = staged;
    options.rows_at_once = 1;
    options.positions = positions;
    options.kv_type = kernels::DType::F32;
    Session session(model, options, std::make_unique<RandomShares>(layers, kv_heads, 200, 8 * 40, coupled, 17));
    std::vector<std::vector<std::vector<uint32_t>>> dropped(layers);
    session.set_observer([&](const Selection& s) { dropped[static_cast<size_t>(s.layer)] = s.dropped; });
    const auto compare = [&](const std::vector<double>& expected, const std::vector<float>& logits) {
        double largest = 0, worst = 0;
        for (size_t i = 0; i < logits.size(); ++i) {
            largest = std::max(largest, std::abs(expected[i]));
            worst = std::max(worst, std::abs(static_cast<double>(logits[i]) - expected[i]));
        }
        CHECK(worst <= 2e-4 * largest);
        for (int l = 0; l < layers; ++l)
            for (int h = 0; h < kv_heads; ++h)
                reference.drop(l, h, dropped[static_cast<size_t>(l)][static_cast<size_t>(h)]);
    };
    for (uint64_t i = 0; i < 8; ++i) {
        const auto tokens = random_text(i == 5 ? 7 : staged, i);
        session.feed(tokens);
        session.finish();
        compare(reference.feed(tokens), session.logits());
    }
    for (int i = 0; i < 30; ++i) {
        const auto said = say(session, 1);
        compare(reference.feed(said), session.logits());
    }
}
