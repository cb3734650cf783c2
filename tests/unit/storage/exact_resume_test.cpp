// Exact resuming through the store (docs/architecture.md): wherever a session is cut, saved, and reopened from the
// database file, it continues bit for bit like one that was never cut. Holds for every policy, for combined
// options, with question rows, greedy and sampled.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string_view>

#include "engine/policy/named/registry.h"
#include "engine/session/session.h"
#include "storage/conversations.h"
#include "storage/snapshots.h"
#include "tests/support/catch.h"
#include "tests/support/random_model.h"
#include "tests/support/test_level.h"
#include "tests/unit/storage/scratch_database.h"

using namespace palimpsest;
using namespace palimpsest::engine;
using namespace palimpsest::storage;
using palimpsest::tests::at_full_level;
using palimpsest::tests::runs_here;
using palimpsest::tests::ScratchDatabase;

namespace {

constexpr int32_t answer_tokens = 256;

class Dice {
public:
    explicit Dice(uint32_t seed) : random_(seed) {}
    int32_t between(int32_t first, int32_t last) // both inclusive
    {
        return first + static_cast<int32_t>(random_() % static_cast<uint32_t>(last - first + 1));
    }
    template<class T>
    T one_of(std::initializer_list<T> values)
    {
        return values.begin()[between(0, static_cast<int32_t>(values.size()) - 1)];
    }

private:
    std::mt19937 random_;
};

std::shared_ptr<const Model> random_model(Dice& dice, uint32_t seed, int32_t least_heads)
{
    const int32_t kv_heads = dice.between(least_heads, 2), head_dim = dice.one_of({8, 16, 32, 64});
    const int32_t family = dice.between(0, 3);
    const tests::RandomModelShape shape{.layers = dice.between(2, 4),
                                        .dim = 32,
                                        .heads = kv_heads * dice.between(1, 2),
                                        .kv_heads = kv_heads,
                                        .head_dim = head_dim,
                                        .ffn = 48,
                                        .seed = seed,
                                        .architecture = std::array{"llama", "qwen3", "gemma2", "gemma3"}[family],
                                        .window = family < 2 ? 0 : dice.between(8, 150)};
    const auto path = tests::random_model(shape);
    auto model = Model::load(path, kernels::open_backend({.device = "cpu", .threads = 1, .simd = ""}));
    std::filesystem::remove(path);
    return model;
}

struct PolicyCase {
    std::string policy;
    bool steered = false;
    int32_t least_heads = 1; // KV heads of a layer
};

// Every policy with its defaults, and settings with more to save: lists of unequal and changing length, moments,
// averages in place of entries, evictions that wait for the end of the reading.
std::vector<PolicyCase> policy_cases()
{
    std::vector<PolicyCase> all;
    for (const PolicyInfo& policy : policies())
        all.push_back({policy.name});
    for (const char* spec : {"treekv:budget=pyramid", "h2o:budget=auto", "snapkv:budget=auto,heads=ada",
                             "pyramidkv:allocation=entropy", "pyramidkv:nested=true", "hbw-kv:representative=avg",
                             "treekv-log:schedule=every:8", "cake:schedule=once"})
        all.push_back({spec});
    for (const char* spec : {"snapkv", "cake", "treekv"})
        all.push_back({spec, true});
    all.push_back({.policy = "adakv:schedule=once", .least_heads = 2});
    return all;
}

const std::vector<TokenId> question = {5, 17, 3, 80, 41, 17, 2};

SessionOptions random_options(Dice& dice, const PolicyCase& tested, bool sampled, int32_t head_dim)
{
    SessionOptions o;
    o.policy = PolicySpec::parse(tested.policy);
    o.budget = tested.policy == "full" ? 1024 : dice.between(40, 96);
    if (tested.steered) o.question_room = static_cast<int32_t>(question.size());
    o.chunk = dice.one_of({8, 16, 24});
    o.positions = dice.one_of({PositionMode::Contiguous, PositionMode::Original});
    o.kv_type = dice.one_of({kernels::DType::F32, kernels::DType::F16, kernels::DType::BF16});
    if (head_dim % 32 == 0 && dice.between(0, 3) > 0) o.kv_type = kernels::DType::Q8_0;
    if (!sampled) return o;
    o.sampler = {
        .temperature = 0.8, .top_k = 40, .top_p = 0.95, .repeat_penalty = 1.1, .repeat_last = 32, .seed = 7};
    return o;
}

std::vector<TokenId> random_text(Dice& dice)
{
    std::vector<TokenId> tokens(static_cast<size_t>(dice.between(120, 400)));
    for (TokenId& token : tokens)
        token = dice.between(0, 95);
    return tokens;
}

// An answer with the logits it was chosen from, and the tokens kept at its end.
struct Answer {
    std::vector<TokenId> tokens;
    std::vector<float> logits;               // [tokens + 1, vocabulary]: before each token, and after the last
    std::vector<std::vector<uint32_t>> kept; // in the end, per list

    // Generates the answer from token `first` on.
    static Answer of(Session& session, int32_t first = 0)
    {
        Answer answer;
        const auto note = [&] {
            const auto& now = session.logits();
            answer.logits.insert(answer.logits.end(), now.begin(), now.end());
        };
        note();
        answer.tokens = session
                            .generate({.max_tokens = answer_tokens - first,
                                       .stop = {},
                                       .token =
                                           [&](TokenId) {
                                               note();
                                               return true;
                                           },
                                       .is_end = {}})
                            .tokens;
        answer.kept = session.retention().tokens;
        return answer;
    }

    bool ends_with(const Answer& rest) const
    {
        if (rest.tokens.size() > tokens.size() || rest.logits.size() > logits.size()) return false;
        const float* from = logits.data() + (logits.size() - rest.logits.size());
        return std::equal(rest.tokens.rbegin(), rest.tokens.rend(), tokens.rbegin()) && rest.kept == kept &&
               std::memcmp(rest.logits.data(), from, rest.logits.size() * sizeof(float)) == 0;
    }
};

// A session with random options. Each cut saves it at a random place, restores it from the database, and checks
// that the restored session gives the rest of the same answer.
class Scenario {
public:
    Scenario(const PolicyCase& tested, bool sampled, uint32_t seed)
        : dice_(seed), model_(random_model(dice_, seed, tested.least_heads)),
          options_(random_options(dice_, tested, sampled, model_->config().head_dim)), steered_(tested.steered),
          text_(random_text(dice_))
    {
        const auto session = begun();
        session->feed(text_);
        whole_ = Answer::of(*session);
        owner_ = Conversations(*database_).create({.name = "s", .model = "m", .model_name = "m", .options = "{}"});
    }

    void cut_between_chunks() { cut_text(dice_.between(0, text_size() / options_.chunk - 1) * options_.chunk); }
    void cut_in_a_chunk()
    {
        const int32_t chunks = dice_.between(0, text_size() / options_.chunk - 1);
        cut_text(chunks * options_.chunk + dice_.between(1, options_.chunk - 1));
    }
    void cut_in_the_answer()
    {
        const int32_t said = dice_.between(0, answer_tokens - 1);
        INFO("after " << said << " tokens of the answer");
        const auto session = begun();
        session->feed(text_);
        session->generate({.max_tokens = said, .stop = {}, .token = {}, .is_end = {}});
        const auto restored = reopened(*session);
        check_rest(*restored, said);
    }
    // Simulates a process that was killed in an answer: the newest checkpoint is from before the answer, and only
    // the answer's first tokens are stored.
    void die_in_the_answer()
    {
        const int32_t said = dice_.between(0, answer_tokens - 1);
        INFO("after " << said << " stored tokens of an answer");
        const auto session = begun();
        session->feed(text_);
        const auto restored = reopened(*session);
        const std::span<const TokenId> stored(whole_.tokens.data(), static_cast<size_t>(said));
        CHECK(restored->replay(stored, false) == said);
        check_rest(*restored, said);
    }

private:
    std::unique_ptr<Session> begun() const
    {
        auto session = std::make_unique<Session>(model_, options_);
        if (steered_) session->set_question_ids(question);
        return session;
    }

    int32_t text_size() const { return static_cast<int32_t>(text_.size()); }

    void cut_text(int32_t read)
    {
        INFO("after " << read << " of " << text_size() << " tokens of the text, chunk " << options_.chunk);
        const auto session = begun();
        session->feed(std::span(text_).first(static_cast<size_t>(read)));
        const auto restored = reopened(*session);
        CHECK(restored->pending() == read % options_.chunk);
        restored->feed(std::span(text_).subspan(static_cast<size_t>(read)));
        check_rest(*restored, 0);
    }

    void check_rest(Session& session, int32_t said) const
    {
        const Answer rest = Answer::of(session, said);
        CHECK(rest.tokens.size() == static_cast<size_t>(answer_tokens - said));
        CHECK(whole_.ends_with(rest));
    }

    std::unique_ptr<Session> reopened(Session& session)
    {
        const int64_t id = Snapshots(*database_).save(owner_, session.state());
        database_.close();
        database_.open();
        return Session::restore(model_, Snapshots(*database_).load(id));
    }

    Dice dice_;
    std::shared_ptr<const Model> model_;
    SessionOptions options_;
    bool steered_;
    std::vector<TokenId> text_;
    Answer whole_;
    ScratchDatabase database_;
    int64_t owner_ = 0;
};

} // namespace

TEST_CASE("a session that is saved anywhere and reopened continues bit for bit")
{
    const int rounds = at_full_level() ? 7 : 1; // each round makes four cuts for every case, greedy and sampled
    uint32_t seed = 0;
    for (int round = 0; round < rounds; ++round) {
        for (const PolicyCase& tested : policy_cases()) {
            for (const bool sampled : {false, true}) {
                if (!runs_here(++seed, 7)) continue;
                INFO(tested.policy << (tested.steered ? ", steered" : "") << (sampled ? ", sampled" : ", greedy")
                                   << ", seed " << seed);
                Scenario scenario(tested, sampled, seed);
                scenario.cut_between_chunks();
                scenario.cut_in_a_chunk();
                scenario.cut_in_the_answer();
                scenario.die_in_the_answer();
            }
        }
    }
}
