// The guarantees of the engine (docs/architecture.md), checked on random models.

#include <chrono>
#include <filesystem>
#include <random>
#include <thread>

#include "engine/session/session.h"
#include "engine/session/session_setup.h"
#include "kernels/base/error.h"
#include "tests/support/catch.h"
#include "tests/support/random_model.h"
#include "tests/support/test_level.h"

using namespace palimpsest;
using namespace palimpsest::engine;
using namespace palimpsest::tests;

namespace {

std::shared_ptr<const Model> load(const RandomModelShape& shape = {}, int threads = 2)
{
    const auto path = random_model(shape);
    auto model = Model::load(path, kernels::open_backend({.device = "cpu", .threads = threads, .simd = ""}));
    std::filesystem::remove(path); // stays mapped
    return model;
}

std::vector<TokenId> tokens_of(size_t count, uint64_t seed = 5, int32_t vocabulary = 96)
{
    std::mt19937_64 random(seed);
    std::vector<TokenId> tokens(count);
    for (TokenId& token : tokens)
        token = static_cast<TokenId>(random() % static_cast<uint64_t>(vocabulary));
    return tokens;
}

SessionOptions options(const std::string& policy, int32_t budget, int32_t chunk)
{
    SessionOptions o;
    o.policy = PolicySpec::parse(policy);
    o.budget = budget;
    o.chunk = chunk;
    return o;
}

// Results that must not differ: kept tokens, logits, and the tokens generated next.
struct Outcome {
    std::vector<std::vector<uint32_t>> kept;
    std::vector<float> logits;
    std::vector<TokenId> generated;
    std::vector<float> logits_after;
    bool operator==(const Outcome&) const = default;
};

Outcome outcome(Session& session, int32_t generate = 24)
{
    Outcome o;
    o.logits = session.logits();
    o.kept = session.retention().tokens;
    o.generated = session.generate({.max_tokens = generate, .stop = {}, .token = {}, .is_end = {}}).tokens;
    o.logits_after = session.logits();
    return o;
}

const std::vector<std::string> every_policy = {"treekv",  "treekv:rule=left",       "treekv-log", "streaming",
                                               "lacache", "lacache:pattern=ladder", "full"};

} // namespace

// The stream is longer than the window of local layers; in these layers both sessions keep the same tokens.
TEST_CASE("a stream no longer than the budget gives the full cache's bits")
{
    const auto shape = GENERATE(from_range(shapes_of_families(4096)));
    CAPTURE(shape.architecture, shape.window);
    const auto model = load(shape);
    const auto tokens = tokens_of(150);
    const auto positions = GENERATE(PositionMode::Contiguous, PositionMode::Original);
    SessionOptions full = options("full", 400, 32);
    full.positions = positions;
    Session reference(model, full);
    reference.feed(tokens);
    const Outcome expected = outcome(reference);
    for (const std::string& policy : every_policy) {
        SessionOptions o = options(policy, 200, 32);
        o.positions = positions;
        Session session(model, o);
        session.feed(tokens);
        INFO(policy);
        CHECK(outcome(session) == expected);
    }
}

TEST_CASE("the number of threads changes no bit")
{
    const auto tokens = tokens_of(300);
    for (const std::string& policy : every_policy) {
        std::vector<Outcome> outcomes;
        for (const int threads : {1, 2, 3}) {
            Session session(load({}, threads), options(policy, policy == "full" ? 600 : 64, 48));
            session.feed(tokens);
            outcomes.push_back(outcome(session));
        }
        INFO(policy);
        CHECK(outcomes[0] == outcomes[1]);
        CHECK(outcomes[0] == outcomes[2]);
    }
}

// Wide enough for several blocks of the products and panels of rows, long enough for several splits of decode
// attention.
TEST_CASE("the number of threads changes no bit of a wide model")
{
    const RandomModelShape wide{.layers = 2,
                                .dim = 576,
                                .heads = 9,
                                .kv_heads = 3,
                                .head_dim = 64,
                                .ffn = 1056,
                                .vocabulary = 700,
                                .weight_scale = 0.1f};
    const int32_t budget = at_ci_level() ? 560 : 1100;
    const auto tokens = tokens_of(budget + 400, 5, 700);
    for (const std::string policy : {"treekv", "lacache"}) {
        if (at_ci_level() && policy == "lacache") continue;
        std::vector<Outcome> outcomes;
        for (const int threads : {1, 2, 5}) {
            Session session(load(wide, threads), options(policy, budget, 200));
            session.feed(tokens);
            outcomes.push_back(outcome(session, 6));
        }
        INFO(policy);
        CHECK(outcomes[0] == outcomes[1]);
        CHECK(outcomes[0] == outcomes[2]);
    }
}

TEST_CASE("how the input is cut into calls and super-chunks changes no bit")
{
    const auto model = load();
    const auto tokens = tokens_of(333);
    const auto policy = GENERATE(from_range(every_policy));
    const int32_t budget = policy == "full" ? 600 : 64;
    Session whole(model, options(policy, budget, 16));
    whole.feed(tokens);
    const Outcome expected = outcome(whole);
    std::mt19937_64 random(17);
    for (const int32_t rows_at_once : {1, 16, 64, 1000}) {
        SessionOptions o = options(policy, budget, 16);
        o.rows_at_once = rows_at_once;
        Session session(model, o);
        for (size_t at = 0; at < tokens.size();) {
            const size_t count = std::min<size_t>(random() % 50, tokens.size() - at);
            session.feed(std::span(tokens).subspan(at, count));
            at += count;
        }
        INFO(policy << ", " << rows_at_once << " rows at once, seed 17");
        CHECK(outcome(session) == expected);
    }
}

TEST_CASE("a session restored from a state continues like the original")
{
    const auto model = load();
    const auto tokens = tokens_of(260);
    const auto policy = GENERATE(from_range(every_policy));
    const auto temperature = GENERATE(0.0, 0.8);
    SessionOptions o = options(policy, policy == "full" ? 700 : 64, 32);
    o.sampler.temperature = temperature;
    o.sampler.repeat_penalty = 1.1;
    o.sampler.seed = 99;
    INFO(policy << ", temperature " << temperature);

    // Cuts in the middle of reading, at its end, and in the middle of an answer, when rows are out of order.
    for (const size_t cut : {0u, 96u, 101u, 260u}) {
        Session session(model, o), untouched(model, o);
        session.feed(std::span(tokens).first(cut));
        untouched.feed(std::span(tokens).first(cut));
        const GenerateOptions answer{.max_tokens = 37, .stop = {}, .token = {}, .is_end = {}};
        if (cut == 260u) CHECK(session.generate(answer).tokens == untouched.generate(answer).tokens);
        const auto restored = Session::restore(model, session.state());
        const auto rest = std::span(tokens).subspan(cut == 260u ? 200 : cut);
        session.feed(rest);
        restored->feed(rest);
        untouched.feed(rest);
        const Outcome expected = outcome(untouched, 64);
        CHECK(outcome(session, 64) == expected); // state() changed nothing
        CHECK(outcome(*restored, 64) == expected);
        session.feed(rest);
        const auto forked = session.fork();
        CHECK(outcome(*forked, 64) == outcome(session, 64));
    }
}

TEST_CASE("pinned tokens are kept, and a state, a fork and cuts of the input change no bit")
{
    const auto model = load();
    const auto tokens = tokens_of(400);
    for (const std::string& policy : every_policy) {
        CAPTURE(policy);
        const auto start = [&] {
            auto o = options(policy, policy == "full" ? 500 : 48, 16);
            o.pins = Pins({{3, 5}, {90, 99}});
            return std::make_unique<Session>(model, o);
        };
        const Pins later({{3, 5}, {90, 99}, {200, 206}});
        const auto whole = start();
        whole->feed(std::span(tokens).first(215));
        whole->set_pins(later);
        const SessionState state = whole->state();
        const auto fork = Session::restore(model, state);
        CHECK(fork->pins() == later);
        whole->feed(std::span(tokens).subspan(215));
        const Outcome expected = outcome(*whole);
        CHECK(whole->held({90, 99}) == 1);
        CHECK(whole->held({3, 5}) == 1);

        fork->feed(std::span(tokens).subspan(215));
        CHECK(outcome(*fork) == expected);

        const auto pieces = start();
        for (size_t i = 0; i < tokens.size(); ++i) {
            if (i == 215) pieces->set_pins(later);
            pieces->feed({&tokens[i], 1});
        }
        CHECK(outcome(*pieces) == expected);
        if (policy == "full") continue;

        const auto without = std::make_unique<Session>(model, options(policy, 48, 16));
        without->feed(tokens);
        without->finish();
        CHECK(without->held({90, 99}) < 1);
        CHECK_THROWS_WITH(whole->set_pins(Pins({{0, 48}})), Catch::Contains("PAL-PIN-01"));
        CHECK(whole->pins() == later);
    }
}

TEST_CASE("an answer is generated again from the state before it")
{
    const auto model = load();
    SessionOptions o = options("treekv", 64, 32);
    o.sampler.temperature = GENERATE(0.0, 0.9);
    o.sampler.repeat_penalty = 1.2;
    Session session(model, o);
    session.feed(tokens_of(150));
    session.finish();
    const SessionState before = session.state();
    const auto said = session.generate({.max_tokens = 40, .stop = {}, .token = {}, .is_end = {}}).tokens;
    const auto again = Session::restore(model, before);
    CHECK(again->replay(std::span(said).first(25), false) == 25);
    const auto rest = again->generate({.max_tokens = 15, .stop = {}, .token = {}, .is_end = {}}).tokens;
    CHECK(std::equal(rest.begin(), rest.end(), said.begin() + 25, said.end()));
    CHECK(outcome(*again) == outcome(session));

    const auto other = Session::restore(model, before);
    auto wrong = said;
    wrong[10] = (wrong[10] + 1) % 96;
    CHECK(other->replay(wrong, false) == 40);
    CHECK(other->tokens_seen() == 190);
    CHECK(outcome(*other, 0).logits != outcome(session, 0).logits);
}

TEST_CASE("replaying an answer gives the same logits, also in a session with another sampler")
{
    const auto model = load();
    SessionOptions sampled = options("treekv", 64, 32), greedy = sampled;
    sampled.sampler.temperature = 0.9;
    Session session(model, sampled), again(model, greedy);
    for (Session* s : {&session, &again}) {
        s->feed(tokens_of(150));
        s->finish();
    }
    const auto said = session.generate({.max_tokens = 40, .stop = {}, .token = {}, .is_end = {}}).tokens;
    CHECK(again.replay(said, false) == 40);
    CHECK_THROWS_WITH(again.replay(std::vector<TokenId>{96}, false), Catch::Contains("PAL-TEXT-01"));
    CHECK_THROWS_WITH(again.replay(std::vector<TokenId>{-1}, false), Catch::Contains("PAL-TEXT-01"));
    CHECK(again.logits() == session.logits());
    CHECK(again.retention().tokens == session.retention().tokens);
}

TEST_CASE("an answer that ended by itself is generated again, its end included")
{
    const auto model = load();
    SessionOptions o = options("treekv", 64, 32);
    o.sampler.temperature = 1.0;
    Session session(model, o);
    session.feed(tokens_of(150));
    session.finish();
    const SessionState before = session.state();
    int32_t count = 0;
    const auto said = session.generate(
        {.max_tokens = 40, .stop = {}, .token = {}, .is_end = [&](TokenId) { return ++count == 9; }});
    REQUIRE(said.end == GenerateEnd::EndOfText);
    REQUIRE(said.tokens.size() == 8);
    const auto again = Session::restore(model, before);
    CHECK(again->replay(said.tokens, true) == 8);
    CHECK(outcome(*again) == outcome(session)); // the next draw is the same
}

TEST_CASE("a new sampler applies from the next token on, and is saved in the state")
{
    const auto model = load();
    const auto said = [](Session& session, int32_t count) {
        return session.generate({.max_tokens = count, .stop = {}, .token = {}, .is_end = {}}).tokens;
    };
    SamplerOptions warm{.temperature = 1.3, .repeat_penalty = 1.5, .repeat_last = 8, .seed = 17};
    SessionOptions o = options("treekv", 64, 32);
    Session changed(model, o);
    o.sampler = warm;
    Session begun(model, o);
    for (Session* session : {&changed, &begun})
        session->feed(tokens_of(150));
    changed.set_sampler(warm);
    const auto first = said(changed, 20);
    CHECK(first == said(begun, 20));

    // The random state is new, but the repeat penalty knows the tokens generated before.
    begun.set_sampler(warm);
    Sampler expected(warm);
    for (const TokenId token : first)
        expected.accept(token);
    CHECK(said(begun, 1) == std::vector{expected.sample(changed.logits())});

    const auto restored = Session::restore(model, changed.state());
    CHECK(restored->options().sampler == warm);
    CHECK(said(*restored, 20) == said(changed, 20));

    warm.temperature = -1;
    CHECK_THROWS_AS(changed.set_sampler(warm), Error);
    CHECK(changed.options().sampler.temperature == 1.3);
}

TEST_CASE("a fork leaves the session as it was")
{
    const auto model = load();
    Session session(model, options("treekv", 64, 32));
    session.feed(tokens_of(200));
    const auto logits = session.logits();
    const auto kept = session.retention().tokens;
    const auto fork = session.fork();
    fork->feed(tokens_of(100, 8));
    fork->generate({.max_tokens = 20, .stop = {}, .token = {}, .is_end = {}});
    CHECK(session.retention().tokens == kept);
    CHECK(session.logits() == logits);
    CHECK(fork->tokens_seen() == 320);
}

TEST_CASE("the budget holds after every step and memory does not grow")
{
    const auto model = load();
    for (const std::string& policy : every_policy) {
        if (policy == "full") continue;
        Session session(model, options(policy, 64, 16));
        uint64_t allocated = 0;
        for (int round = 0; round < 40; ++round) {
            session.feed(tokens_of(40, static_cast<uint64_t>(round)));
            session.generate({.max_tokens = 5, .stop = {}, .token = {}, .is_end = {}});
            const RetentionMap map = session.retention();
            for (const auto& kept : map.tokens) {
                REQUIRE(kept.size() <= 64);
                REQUIRE(std::is_sorted(kept.begin(), kept.end()));
                REQUIRE(kept.back() < session.tokens_seen());
            }
            const Telemetry t = session.telemetry();
            if (round == 2) allocated = t.cache_bytes + t.scratch_bytes;
            if (round > 2) REQUIRE(t.cache_bytes + t.scratch_bytes == allocated);
        }
        CHECK(session.tokens_seen() == 40 * 45);
    }
}

TEST_CASE("evicting after all layers keeps the same tokens as evicting layer by layer")
{
    // Reports that it couples layers, and forwards everything else to the policy it wraps.
    class Coupled final : public Policy {
    public:
        explicit Coupled(std::unique_ptr<Policy> inner) : inner_(std::move(inner)) {}
        const PolicySpec& resolved() const override { return inner_->resolved(); }
        SignalNeeds signals() const override { return inner_->signals(); }
        PositionMode default_positions() const override { return inner_->default_positions(); }
        bool bounded() const override { return inner_->bounded(); }
        bool couples_layers() const override { return true; }
        int32_t list_budget(int32_t l, int32_t h) const override { return inner_->list_budget(l, h); }
        int64_t total_budget() const override { return inner_->total_budget(); }
        void observe(int32_t l, std::span<const ListState> heads, const LayerObservation& seen) override
        {
            inner_->observe(l, heads, seen);
        }
        void select(int32_t l, std::span<const ListState> heads,
                    std::vector<std::vector<uint32_t>>& dropped) override
        {
            inner_->select(l, heads, dropped);
        }
        std::vector<std::byte> state() const override { return inner_->state(); }
        void restore(std::span<const std::byte> state) override { inner_->restore(state); }
        std::unique_ptr<Policy> clone() const override { return std::make_unique<Coupled>(inner_->clone()); }

    private:
        std::unique_ptr<Policy> inner_;
    };
    const auto model = load();
    const auto tokens = tokens_of(300);
    for (const char* policy : {"treekv", "lacache"}) {
        const SessionOptions o = options(policy, 64, 32);
        Session plain(model, o);
        Session coupled(model, o, std::make_unique<Coupled>(make_policy(o.policy, {4, 2, 64})));
        plain.feed(tokens);
        coupled.feed(tokens);
        INFO(policy);
        CHECK(outcome(plain) == outcome(coupled));
    }
}

TEST_CASE("the loss of a token is that of the logits before it")
{
    const auto model = load();
    const auto tokens = tokens_of(100);
    std::vector<double> losses(tokens.size(), -1.0);
    FeedOptions feed;
    feed.loss = [&](uint64_t index, TokenId token, double nll) {
        REQUIRE(tokens[index] == token);
        losses[index] = nll;
    };
    Session session(model, options("treekv", 32, 8));
    session.feed(tokens, feed);
    session.finish(feed);
    CHECK(losses[0] == -1.0);

    // Prefixes of the same stream: the last logits of each predict the next token.
    for (const size_t length : {1u, 8u, 9u, 16u, 57u, 99u}) {
        Session prefix(model, options("treekv", 32, 8));
        prefix.feed(std::span(tokens).first(length));
        const auto& logits = prefix.logits();
        double sum = 0;
        for (const float x : logits)
            sum += std::exp(static_cast<double>(x));
        CHECK(
            losses[length] ==
            Approx(std::log(sum) - static_cast<double>(logits[static_cast<size_t>(tokens[length])])).epsilon(1e-4));
    }
}

TEST_CASE("each token has one eviction event per layer, when its last head drops it")
{
    const auto model = load();
    Session session(model, options("treekv", 32, 16));
    std::vector<std::vector<uint32_t>> faded_tokens(4);
    session.set_eviction_sink([&](std::span<const EvictionEvent> events) {
        for (const EvictionEvent& e : events)
            faded_tokens[static_cast<size_t>(e.layer)].push_back(e.token);
    });
    session.feed(tokens_of(400));
    session.generate({.max_tokens = 30, .stop = {}, .token = {}, .is_end = {}});
    const RetentionMap map = session.retention();
    for (int32_t l = 0; l < 4; ++l) {
        std::vector<bool> held(session.tokens_seen(), false);
        for (int32_t h = 0; h < 2; ++h)
            for (const uint32_t token : map.of(l, h))
                held[token] = true;
        auto& gone = faded_tokens[static_cast<size_t>(l)];
        std::sort(gone.begin(), gone.end());
        CHECK(std::adjacent_find(gone.begin(), gone.end()) == gone.end());
        std::vector<uint32_t> expected;
        for (uint32_t token = 0; token < held.size(); ++token)
            if (!held[token]) expected.push_back(token);
        CHECK(gone == expected);
    }
}

TEST_CASE("cancelling within a chunk leaves the session as before the chunk")
{
    const auto model =
        load({.layers = at_ci_level() ? 3 : 12, .dim = 128, .heads = 4, .kv_heads = 2, .head_dim = 32, .ffn = 512});
    SessionOptions o = options("treekv", 600, 512);
    o.stops_within_chunk = true;
    const auto tokens = tokens_of(1024);
    const std::span first = std::span(tokens).first(512), second = std::span(tokens).subspan(512);
    Session whole(model, o);
    whole.feed(first);
    const auto begin = std::chrono::steady_clock::now();
    whole.feed(second);
    const auto chunk_time = std::chrono::steady_clock::now() - begin;
    const Outcome expected = outcome(whole);

    // Repeats until the other thread has stopped the session in time a few times, however late it is scheduled.
    int stopped = 0;
    for (int i = 1; i < 200 && stopped < (at_ci_level() ? 2 : 4); ++i) {
        Session session(model, o);
        session.feed(first);
        const auto logits = session.logits();
        const auto kept = session.retention().tokens;
        std::stop_source stop;
        std::thread later([&] {
            std::this_thread::sleep_for(i % 8 * chunk_time / 8);
            stop.request_stop();
        });
        const bool fed = session.feed(second, {.stop = stop.get_token(), .progress = {}, .loss = {}});
        later.join();
        CHECK(fed == (session.tokens_seen() == 1024));
        if (!fed) {
            ++stopped;
            CHECK(session.pending() == 0);
            CHECK(session.logits() == logits);
            CHECK(session.retention().tokens == kept);
            session.feed(second);
        }
        CHECK(outcome(session) == expected);
    }
    CHECK(stopped > 0);
}

TEST_CASE("stops_within_chunk changes no bit")
{
    const auto model = load();
    const auto tokens = tokens_of(300);
    for (const std::string& policy : every_policy) {
        SessionOptions o = options(policy, policy == "full" ? 500 : 64, 32);
        o.stops_within_chunk = false;
        Session between(model, o);
        o.stops_within_chunk = true;
        Session within(model, o);
        between.feed(tokens);
        within.feed(tokens);
        INFO(policy);
        CHECK(outcome(between) == outcome(within));
    }
}

TEST_CASE("a super-chunk of a large model is short enough to be stopped in time, unless the caller says otherwise")
{
    ModelConfig large; // 8 billion weights
    large.layers = 32, large.dim = 4096, large.heads = 32, large.kv_heads = 8, large.head_dim = 128;
    large.ffn = 14336, large.context = 8192;
    SessionOptions o = options("treekv", 2048, 512);
    o.rows_at_once = 4096;
    CHECK(set_up(o, large, {}).options.rows_at_once == 512);
    CHECK(set_up(o, large, {}).options.stops_within_chunk == true);
    o.stops_within_chunk = false;
    CHECK(set_up(o, large, {}).options.rows_at_once == 4096);
    o.rows_at_once = 1;
    CHECK(set_up(o, large, {}).options.rows_at_once == 512);
}

TEST_CASE("pending tokens stay pending when the tokens after them are cancelled")
{
    const auto model = load();
    for (const bool within : {false, true}) {
        SessionOptions o = options("treekv", 64, 16);
        o.stops_within_chunk = within;
        Session session(model, o), whole(model, o);
        const auto tokens = tokens_of(100);
        session.feed(std::span(tokens).first(23));
        std::stop_source stop;
        stop.request_stop();
        CHECK_FALSE(
            session.feed(std::span(tokens).subspan(23), {.stop = stop.get_token(), .progress = {}, .loss = {}}));
        CHECK(session.tokens_seen() == 16);
        CHECK(session.pending() == 7);
        session.feed(std::span(tokens).subspan(23));
        whole.feed(tokens);
        CHECK(outcome(session) == outcome(whole));
    }
}

TEST_CASE("an answer ends when the cache of an unbounded policy is full")
{
    const auto model = load();
    Session session(model, options("full", 40, 16));
    session.feed(tokens_of(36));
    const auto result = session.generate({.max_tokens = 20, .stop = {}, .token = {}, .is_end = {}});
    CHECK(result.end == GenerateEnd::Full);
    CHECK(result.tokens.size() == 4);
    CHECK_THROWS_WITH(session.require_room(1), Catch::Contains("PAL-BUDGET-02"));
}

TEST_CASE("an answer cancelled before its question was computed leaves the question pending")
{
    const auto model = load();
    Session session(model, options("treekv", 64, 16)), whole(model, options("treekv", 64, 16));
    session.feed(tokens_of(23));
    std::stop_source stop;
    stop.request_stop();
    const GenerateResult none =
        session.generate({.max_tokens = 5, .stop = stop.get_token(), .token = {}, .is_end = {}});
    CHECK(none.end == GenerateEnd::Cancelled);
    CHECK(none.tokens.empty());
    CHECK(session.pending() == 7);
    whole.feed(tokens_of(23));
    CHECK(outcome(session) == outcome(whole));
}

TEST_CASE("cancelling stops between super-chunks and leaves a session that can continue")
{
    const auto model = load();
    SessionOptions o = options("treekv", 64, 16);
    o.rows_at_once = 16;
    Session session(model, o);
    std::stop_source stop;
    FeedOptions feed;
    feed.stop = stop.get_token();
    feed.progress = [&](const Telemetry& t) {
        if (t.tokens_seen >= 48) stop.request_stop();
    };
    CHECK_FALSE(session.feed(tokens_of(200), feed));
    CHECK(session.tokens_seen() == 48);
    CHECK(session.pending() == 0);
    session.feed(tokens_of(16));
    CHECK(session.tokens_seen() == 64);

    // Pending tokens are discarded too.
    session.feed(tokens_of(5));
    CHECK(session.pending() == 5);
    CHECK_FALSE(session.finish({.stop = stop.get_token(), .progress = {}, .loss = {}}));
    CHECK(session.pending() == 0);
    CHECK(session.tokens_seen() == 64);
}

TEST_CASE("cancelling an answer leaves the session as after its last token")
{
    const auto model = load();
    const auto start = [&] {
        auto session = std::make_unique<Session>(model, options("treekv", 64, 16));
        session->feed(tokens_of(100));
        return session;
    };
    const auto whole = start(), cut = start();
    const auto expected = whole->generate({.max_tokens = 20, .stop = {}, .token = {}, .is_end = {}}).tokens;
    std::stop_source stop;
    std::vector<TokenId> said;
    const GenerateResult result = cut->generate({.max_tokens = 20,
                                                 .stop = stop.get_token(),
                                                 .token =
                                                     [&](TokenId token) {
                                                         said.push_back(token);
                                                         if (said.size() == 7) stop.request_stop();
                                                         return true;
                                                     },
                                                 .is_end = {}});
    CHECK(result.end == GenerateEnd::Cancelled);
    CHECK(result.tokens == said);
    CHECK(cut->tokens_seen() == 107);
    const auto rest = cut->generate({.max_tokens = 13, .stop = {}, .token = {}, .is_end = {}}).tokens;
    said.insert(said.end(), rest.begin(), rest.end());
    CHECK(said == expected);
    CHECK(outcome(*cut) == outcome(*whole));
}

TEST_CASE("options that do not fit are refused with their error code")
{
    const auto model = load({.context = 256});
    const auto refused = [&](const SessionOptions& o) -> std::optional<ErrorCode> {
        try {
            Session session(model, o);
        } catch (const Error& error) {
            return error.code();
        }
        return std::nullopt;
    };
    CHECK(refused(options("treekv", 250, 32)) == ErrorCode::BudgetDoesNotFit);
    CHECK(refused(options("treekv", 224, 32)) == std::nullopt);
    CHECK(refused(options("treekv", 0, 32)) == std::nullopt); // context - chunk
    CHECK(refused(options("treekv", 64, 0)) == ErrorCode::ValueNotPossible);
    CHECK(refused(options("treekv", 0, 512)) == ErrorCode::BudgetDoesNotFit);
    CHECK(refused(options("full", 300, 32)) == ErrorCode::BudgetDoesNotFit);

    Session full(model, options("full", 0, 32));
    full.feed(tokens_of(256));
    CHECK_THROWS_WITH(full.feed(tokens_of(32)), Catch::Contains("PAL-BUDGET-02") && Catch::Contains("256"));
    Session session(model, options("treekv", 64, 32));
    CHECK_THROWS_WITH(session.feed(std::vector<TokenId>{96}), Catch::Contains("PAL-TEXT-01"));
}

TEST_CASE("a state that does not fit is refused and changes nothing")
{
    const auto model = load();
    Session session(model, options("treekv", 64, 32));
    session.feed(tokens_of(200));
    const SessionState good = session.state();
    const auto refused = [&](auto change) {
        SessionState bad = good;
        change(bad);
        CHECK_THROWS_AS(Session::restore(model, bad), Error);
    };
    refused([](SessionState& s) { s.model_fingerprint = "another"; });
    refused([](SessionState& s) { s.lists.pop_back(); });
    refused([](SessionState& s) { s.lists[3].keys.pop_back(); });
    refused([](SessionState& s) { std::swap(s.lists[3].tokens.stream[5], s.lists[3].tokens.stream[6]); });
    refused([](SessionState& s) { s.lists[3].tokens.stream.back() = 200; });
    refused([](SessionState& s) { s.lists[3].tokens.sum.pop_back(); });
    refused([](SessionState& s) { s.lists[3].tokens.sum[0] = std::nan(""); });
    refused([](SessionState& s) { s.logits.pop_back(); });
    refused([](SessionState& s) { s.logits[7] = std::nanf(""); });
    refused([](SessionState& s) { s.last_token = 96; });
    refused([](SessionState& s) { s.last_token = -1; });
    refused([](SessionState& s) { s.steps_seen = s.tokens_seen + 1; });
    refused([](SessionState& s) { s.tokens_seen = uint64_t{1} << 32; });
    refused([](SessionState& s) { s.pending = {96}; });
    for (const TokenId unknown : {-1, 96}) {
        SessionState bad = good;
        bad.question_ids = {3, unknown};
        CHECK_THROWS_WITH(Session::restore(model, bad), Catch::Contains("PAL-SNAP-02"));
    }
    refused([](SessionState& s) { s.pending.assign(32, 1); });
    refused([](SessionState& s) { s.integrity_check.ids[0] ^= 1; });
    refused(
        [](SessionState& s) { s.integrity_check.logits[7] = std::nextafter(s.integrity_check.logits[7], 1e9f); });
    refused([](SessionState& s) { s.lists[3].keys[5] ^= std::byte{1}; });
    refused([](SessionState& s) { s.policy_state.clear(); });
    refused([](SessionState& s) { s.sampler_state.clear(); });
    CHECK_NOTHROW(Session::restore(model, good));
}
