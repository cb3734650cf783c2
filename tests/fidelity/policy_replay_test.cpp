// Streams through the engine beside a float64 transformer and the policies as policies.md words them: on the
// engine's own dumped signals every selection is that of the slow policy, exactly; on the engine's own kept sets
// the slow transformer's attention gives the same signals and logits.

#include <cmath>
#include <filesystem>
#include <fstream>
#include <random>

#include "engine/session/session.h"
#include "engine/text/chat_template.h"
#include "engine/text/document_encoder.h"
#include "tests/support/catch.h"
#include "tests/support/random_model.h"
#include "tests/support/reference_model.h"
#include "tests/support/reference_policy.h"

using namespace palimpsest;
using namespace palimpsest::engine;
using namespace palimpsest::tests;

namespace {

std::vector<TokenId> random_tokens(size_t count, int32_t vocabulary, uint64_t seed)
{
    std::mt19937_64 random(seed);
    std::vector<TokenId> tokens(count);
    for (TokenId& token : tokens)
        token = static_cast<TokenId>(random() % static_cast<uint64_t>(vocabulary));
    return tokens;
}

std::shared_ptr<const Model> load(const RandomModelShape& shape)
{
    const auto path = random_model(shape);
    auto model = Model::load(path, kernels::open_backend({.device = "cpu", .threads = 2, .simd = ""}));
    std::filesystem::remove(path); // stays mapped
    return model;
}

double relative_error(double value, double expected, double scale)
{
    return std::abs(value - expected) / std::max(std::abs(expected), scale);
}

std::set<uint32_t> tokens_of(const Pins& pins)
{
    std::set<uint32_t> tokens;
    for (const TokenRange& range : pins.ranges())
        for (uint32_t token = range.first; token < range.last; ++token)
            tokens.insert(token);
    return tokens;
}

// One engine session and the two references beside it.
class Replay {
public:
    Replay(std::shared_ptr<const Model> model, const std::string& policy, int32_t budget, int32_t chunk,
           PositionMode positions, const Pins& pins = {})
        : reference_model_(model->files()), stream_(reference_model_, positions == PositionMode::Contiguous),
          session_(model, {.policy = PolicySpec::parse(policy),
                           .budget = budget,
                           .chunk = chunk,
                           .pins = pins,
                           .positions = positions,
                           .kv_type = kernels::DType::F32,
                           .rows_at_once = 1, // a super-chunk is one chunk, so that references keep pace
                           .sampler = {}}),
          policy_(session_.options().policy, model->config().layers, model->config().kv_heads, budget,
                  tokens_of(pins))
    {
        session_.set_observer([this](const Selection& s) { observe(s); });
    }

    void feed(std::span<const TokenId> tokens)
    {
        const auto chunk = static_cast<size_t>(session_.options().chunk);
        for (size_t at = 0; at < tokens.size(); at += chunk) {
            const auto part = tokens.subspan(at, std::min(chunk, tokens.size() - at));
            step(part, [&] {
                session_.feed(part);
                session_.finish();
            });
        }
    }

    void pin(const Pins& pins)
    {
        session_.set_pins(pins);
        policy_ = policy_.restarted(session_.options().policy, tokens_of(pins));
    }

    void generate(int32_t count)
    {
        for (int32_t i = 0; i < count; ++i) {
            const auto& logits = session_.logits();
            const auto next = static_cast<TokenId>(std::max_element(logits.begin(), logits.end()) - logits.begin());
            step({&next, 1}, [&] { session_.generate({.max_tokens = 1, .stop = {}, .token = {}, .is_end = {}}); });
        }
    }

    double worst_signal = 0, worst_logit = 0;
    int selections = 0, wrong_selections = 0;

private:
    template<class Run>
    void step(std::span<const TokenId> tokens, Run run)
    {
        expected_ = stream_.feed(tokens);
        policy_.append(static_cast<int>(tokens.size()));
        rows_ = static_cast<int32_t>(tokens.size());
        run();
        const std::vector<float>& logits = session_.logits();
        double largest = 0;
        for (const double x : expected_.logits.back())
            largest = std::max(largest, std::abs(x));
        for (size_t i = 0; i < logits.size(); ++i)
            worst_logit = std::max(worst_logit, std::abs(logits[i] - expected_.logits.back()[i]) / largest);
    }

    void observe(const Selection& s)
    {
        const ModelConfig& c = reference_model_.config();
        REQUIRE(s.rows == rows_);
        for (int h = 0; h < c.kv_heads; ++h) {
            const ListState& seen = s.lists[static_cast<size_t>(h)];
            ReferenceList& list = policy_.list(s.layer, h);
            REQUIRE(list.size() == seen.size());
            compare_signals(s.layer, h, seen, list);
            for (size_t j = 0; j < list.size(); ++j) {
                REQUIRE(list[j].stream == seen.stream[j]);
                if (seen.sum.empty()) continue;
                list[j].sum = seen.sum[j];
                list[j].count = seen.count[j];
            }
        }
        std::vector<std::vector<uint32_t>> before;
        for (int h = 0; h < c.kv_heads; ++h) {
            before.emplace_back();
            for (const ReferenceEntry& entry : policy_.list(s.layer, h))
                before.back().push_back(entry.stream);
        }
        policy_.evict(s.layer);
        for (int h = 0; h < c.kv_heads; ++h) {
            std::vector<uint32_t> kept, expected;
            const auto& gone = s.dropped[static_cast<size_t>(h)];
            for (uint32_t rank = 0; rank < before[static_cast<size_t>(h)].size(); ++rank)
                if (!std::binary_search(gone.begin(), gone.end(), rank))
                    kept.push_back(before[static_cast<size_t>(h)][rank]);
            for (const ReferenceEntry& entry : policy_.list(s.layer, h))
                expected.push_back(entry.stream);
            ++selections;
            wrong_selections += kept != expected;
            stream_.drop(s.layer, h, gone);
        }
    }

    // The reference's own accumulation of its own attention, from the engine's sums before this step.
    void compare_signals(int layer, int head, const ListState& seen, const ReferenceList& before)
    {
        if (seen.sum.empty()) return;
        ReferencePolicy scratch = policy_;
        scratch.accumulate(
            layer, head,
            expected_.attention[static_cast<size_t>(layer * reference_model_.config().kv_heads + head)]);
        const ReferenceList& list = scratch.list(layer, head);
        REQUIRE(before.size() == list.size());
        for (size_t j = 0; j < list.size(); ++j) {
            worst_signal = std::max(worst_signal, relative_error(seen.sum[j], list[j].sum, 1.0));
            CHECK(seen.count[j] == Approx(list[j].count));
        }
    }

    ReferenceModel reference_model_;
    ReferenceStream stream_;
    Session session_;
    ReferencePolicy policy_;
    ReferenceStream::Result expected_;
    int32_t rows_ = 0;
};

struct Case {
    std::string policy;
    int32_t kv_heads;
    PositionMode positions;
};

} // namespace

TEST_CASE("selections, signals and logits agree with the slow references over long streams")
{
    const char* level = std::getenv("PALIMPSEST_TEST_LEVEL");
    const size_t length = level && std::string(level) == "ci" ? 400 : 2000;
    const auto chunk = GENERATE(1, 7, 64);
    const auto c = GENERATE(
        Case{"treekv", 2, PositionMode::Contiguous}, Case{"treekv:sinks=0,recent=0", 4, PositionMode::Contiguous},
        Case{"treekv:rule=left", 2, PositionMode::Contiguous},
        Case{"treekv:score=sum", 2, PositionMode::Contiguous},
        Case{"treekv:score=last,recent=8", 2, PositionMode::Contiguous}, Case{"treekv", 2, PositionMode::Original},
        Case{"treekv-log", 2, PositionMode::Contiguous},
        Case{"treekv-log:recent=10,sinks=2", 4, PositionMode::Original},
        Case{"streaming", 2, PositionMode::Contiguous}, Case{"lacache", 2, PositionMode::Contiguous},
        Case{"lacache:pattern=ladder,span=4,overlap=2", 2, PositionMode::Contiguous},
        Case{"lacache:pattern=even,span=3", 2, PositionMode::Original});
    const auto model = load({.layers = 8, .kv_heads = c.kv_heads, .seed = 3});
    Replay replay(model, c.policy, 48, chunk, c.positions);
    replay.feed(random_tokens(length, model->config().vocabulary, 11));
    replay.generate(40);
    INFO(c.policy << ", chunk " << chunk << ", kv heads " << c.kv_heads);
    INFO("worst signal error " << replay.worst_signal << ", worst logit error " << replay.worst_logit);
    CHECK(replay.selections > 0);
    CHECK(replay.wrong_selections == 0);
    CHECK(replay.worst_signal < 1e-5);
    CHECK(replay.worst_logit < 5e-5); // f32 against f64, after 8 layers of random weights
}

TEST_CASE("beside pins, selections, signals and logits agree with the slow references")
{
    const auto chunk = GENERATE(1, 16);
    const std::string policy =
        GENERATE("treekv", "treekv-log:score=sum", "treekv:height=2", "streaming", "lacache");
    const auto model = load({.layers = 8, .kv_heads = 2, .seed = 3});
    const auto tokens = random_tokens(420, model->config().vocabulary, 17);
    Replay replay(model, policy, 48, chunk, PositionMode::Contiguous, Pins({{0, 2}, {60, 66}}));
    replay.feed(std::span(tokens).first(200));
    replay.pin(Pins({{0, 2}, {60, 66}, {150, 158}, {195, 203}})); // partly gone, partly to come
    replay.feed(std::span(tokens).subspan(200));
    replay.generate(20);
    INFO(policy << ", chunk " << chunk);
    CHECK(replay.selections > 0);
    CHECK(replay.wrong_selections == 0);
    CHECK(replay.worst_signal < 1e-5);
    CHECK(replay.worst_logit < 5e-5);
}

TEST_CASE("the shipped model's summary is the model's")
{
    // The framing and the order of things are those of `palimpsest summarize`; the document is the chronicle's
    // beginning.
    const auto model = Model::load(PALIMPSEST_SOURCE_DIR "/resources/default-model/palimpsest-small.gguf",
                                   kernels::open_backend({.device = "cpu", .threads = 2, .simd = ""}));
    std::ifstream file(PALIMPSEST_SOURCE_DIR "/resources/samples/ashford-light.md");
    std::string text(1600, '\0');
    REQUIRE(file.read(text.data(), static_cast<std::streamsize>(text.size())));
    const ChatTemplate frame(model->files().vocabulary, *model->tokenizer());
    std::vector<EncodedToken> encoded;
    DocumentEncoder encoder(*model->tokenizer(), frame.document_is_first_text());
    encoder.push(text, encoded);
    encoder.finish(encoded);

    std::vector<TokenId> tokens = frame.open_user();
    for (const EncodedToken& token : encoded)
        tokens.push_back(token.id);
    for (const auto& part : {frame.question("Summarize the text above."), frame.close_user_open_assistant()})
        tokens.insert(tokens.end(), part.begin(), part.end());

    Replay replay(model, "treekv", 128, 64, PositionMode::Contiguous);
    replay.feed(tokens);
    replay.generate(24);
    INFO("worst signal error " << replay.worst_signal << ", worst logit error " << replay.worst_logit);
    CHECK(tokens.size() > 300);
    CHECK(replay.wrong_selections == 0);
    // A trained model's logits are an order larger than those of the random ones above, and with them what f32
    // loses in the argument of exp.
    CHECK(replay.worst_signal < 2e-5);
    CHECK(replay.worst_logit < 2e-5);
}
