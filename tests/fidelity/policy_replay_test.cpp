// Replays streams through the engine against a float64 transformer and the policies as docs/policies-spec.md
// defines them. Given the engine's signals, the slow policy selects exactly the same tokens; given the tokens that
// the engine keeps, the slow transformer computes the same signals and logits up to rounding.

#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <random>

#include "engine/session/session.h"
#include "engine/text/chat_template.h"
#include "engine/text/document_encoder.h"
#include "tests/support/catch.h"
#include "tests/support/project_folders.h"
#include "tests/support/random_model.h"
#include "tests/support/reference_model.h"
#include "tests/support/reference_policy.h"
#include "tests/support/reference_retrieval.h"
#include "tests/support/test_level.h"

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

std::set<uint32_t> tokens_of(const Pins& pins)
{
    std::set<uint32_t> tokens;
    for (const TokenRange& range : pins.ranges())
        for (uint32_t token = range.first; token < range.last; ++token)
            tokens.insert(token);
    return tokens;
}

// A copy of what the session's observer saw of one layer, kept until the end of the step: only then can a policy
// that looks at several layers be compared.
struct Dump {
    struct List {
        std::vector<uint32_t> stream;
        std::vector<double> sum, count, moments;
        std::vector<uint32_t> dropped;
        std::vector<Merge> merges;
    };
    int layer = 0, rows = 0;
    std::vector<List> lists;
    ReferenceObservation seen;

    explicit Dump(const Selection& s) : layer(s.layer), rows(s.rows)
    {
        seen.rows = s.seen.rows;
        seen.row_statistic = s.seen.row_statistic;
        for (const auto& entropies : s.seen.entropies)
            seen.entropies.emplace_back(entropies.begin(), entropies.end());
        for (size_t h = 0; h < s.lists.size(); ++h) {
            const ListState& list = s.lists[h];
            lists.push_back({.stream = {list.stream.begin(), list.stream.end()},
                             .sum = {list.sum.begin(), list.sum.end()},
                             .count = {list.count.begin(), list.count.end()},
                             .moments = {list.moments.begin(), list.moments.end()},
                             .dropped = s.dropped[h],
                             .merges = s.merges.empty() ? std::vector<Merge>() : s.merges[h]});
        }
    }
};

struct Replayed {
    std::string policy;
    int32_t kv_heads = 2;
    PositionMode positions = PositionMode::Contiguous;
    int32_t chunk = 64;
    int32_t budget = 48;
    Pins pins{};
    std::vector<TokenId> question{}; // question rows that follow every prefill chunk
};

// One engine session and its two references.
class Replay {
public:
    Replay(const std::shared_ptr<const Model>& model, const Replayed& setting)
        : reference_model_(model->files()), c_(reference_model_.config()),
          stream_(reference_model_, setting.positions == PositionMode::Contiguous),
          session_(model, {.policy = PolicySpec::parse(setting.policy),
                           .budget = setting.budget,
                           .chunk = setting.chunk,
                           .pins = setting.pins,
                           .positions = setting.positions,
                           .kv_type = kernels::DType::F32,
                           .rows_at_once = 1, // one chunk per super-chunk, so that the references can follow
                           .sampler = {}}),
          policy_(session_.options().policy, {.layers = c_.layers,
                                              .heads = c_.kv_heads,
                                              .budget = setting.budget,
                                              .pinned = tokens_of(setting.pins),
                                              .context = c_.context,
                                              .chunk = setting.chunk}),
          question_(setting.question)
    {
        session_.set_question_ids(question_);
        session_.set_observer([this](const Selection& s) { dumps_.emplace_back(s); });
    }

    // Feeds the tokens chunk by chunk, and finishes.
    void feed(std::span<const TokenId> tokens)
    {
        const auto chunk = static_cast<size_t>(session_.options().chunk);
        for (size_t at = 0; at < tokens.size(); at += chunk) {
            const auto part = tokens.subspan(at, std::min(chunk, tokens.size() - at));
            const bool is_last = at + chunk >= tokens.size();
            step(part, false, [&] {
                session_.feed(part);
                if (is_last) session_.finish();
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
            step({&next, 1}, true,
                 [&] { session_.generate({.max_tokens = 1, .stop = {}, .token = {}, .is_end = {}}); });
        }
    }

    double worst_signal = 0, worst_statistic = 0, worst_logit = 0;
    int selections = 0, wrong_selections = 0, evicted = 0;
    int steered_chunks = 0;
    int partial_reads = 0; // decoded tokens of a retrieval policy whose logits were compared

private:
    template<class Run>
    void step(std::span<const TokenId> tokens, bool is_decoding, Run run)
    {
        const std::span<const TokenId> question = is_decoding ? std::span<const TokenId>() : question_;
        policy_.append(static_cast<int>(tokens.size()));
        expect_signals(static_cast<int>(tokens.size()), static_cast<int>(question.size()));
        const bool has_signals = !expected_.empty();
        const auto sink = [&](int layer, int head, int row, const std::vector<std::vector<double>>& attention) {
            expected_[at(layer, head)].add_row(row, attention);
        };
        const bool retrieves = is_decoding && session_.policy().retrieval();
        const auto retriever = [&](int layer, const auto& queries, const auto& keys) {
            return retrieved(policy_.settings(), layer, queries, keys, margin_);
        };
        if (!question.empty()) look_back(tokens, question, sink);
        const std::vector<double> logits = stream_.feed(
            tokens, has_signals && question.empty() ? ReferenceStream::RowSink(sink) : ReferenceStream::RowSink(),
            retrieves ? ReferenceStream::Retriever(retriever) : ReferenceStream::Retriever());
        expect_keys(tokens.size());
        dumps_.clear();
        run();
        REQUIRE(dumps_.size() % static_cast<size_t>(c_.layers) == 0);
        for (size_t first = 0; first < dumps_.size(); first += static_cast<size_t>(c_.layers))
            follow(std::span(dumps_).subspan(first, static_cast<size_t>(c_.layers)),
                   static_cast<int>(tokens.size()));
        // Skips policies that wait for the end of the reading, because logits() would end it, and steps in which
        // rounding decides which entries a retrieval policy reads: two correct results may differ.
        if (!session_.policy().waits_for_end() && margin_ > 3e-6) {
            compare_logits(logits);
            partial_reads += retrieves;
        }
    }

    // The reference accumulates from the engine's statistics before this step, and treats the question rows
    // as a part of the chunk.
    void expect_signals(int rows, int question_rows)
    {
        expected_.clear();
        if (!session_.policy().signals().any()) return;
        for (int l = 0; l < c_.layers; ++l)
            for (int h = 0; h < c_.kv_heads; ++h) {
                ReferenceList list = policy_.list(l, h);
                list.resize(list.size() + static_cast<size_t>(question_rows));
                expected_.emplace_back(policy_.settings(), std::move(list), rows + question_rows,
                                       c_.heads / c_.kv_heads);
            }
    }

    // Gives the reference the keys of the stream's lists, whose last are those of the chunk's tokens.
    void expect_keys(size_t tokens)
    {
        if (!policy_.settings().key_norms && !policy_.settings().key_similarities) return;
        const bool rotated = session_.options().positions == PositionMode::Original; // as the cache stores keys
        for (int l = 0; l < c_.layers; ++l)
            for (int h = 0; h < c_.kv_heads; ++h) {
                const std::vector<ReferenceStream::Entry>& list = stream_.list(l, h);
                ReferenceSignals& expected = expected_[at(l, h)];
                for (size_t j = list.size() - tokens; j < list.size() && policy_.settings().key_norms; ++j)
                    expected.set_key(j, list[j].key);
                if (!policy_.settings().key_similarities) continue;
                std::vector<std::vector<double>> keys;
                for (const ReferenceStream::Entry& entry : list)
                    keys.push_back(rotated ? entry.rotated : entry.key);
                expected.set_keys(keys);
            }
    }

    // Feeds the chunk and the question rows as one chunk to a copy of the stream.
    void look_back(std::span<const TokenId> chunk, std::span<const TokenId> question,
                   const ReferenceStream::RowSink& sink)
    {
        std::vector<TokenId> both(chunk.begin(), chunk.end());
        both.insert(both.end(), question.begin(), question.end());
        ReferenceStream(stream_).feed(both, sink);
        ++steered_chunks;
    }

    // Compares one eviction: after a chunk, or at the end of a reading.
    void follow(std::span<const Dump> layers, int rows)
    {
        if (layers.front().rows == 0)
            policy_.end_prefill();
        else
            REQUIRE(layers.front().rows == rows);
        for (const Dump& dump : layers) {
            if (dump.rows > 0 && !expected_.empty()) compare_signals(dump);
            for (int h = 0; h < c_.kv_heads; ++h)
                take_statistics(dump, h);
            policy_.observe(dump.layer, dump.seen);
        }
        policy_.evict();
        for (const Dump& dump : layers)
            for (int h = 0; h < c_.kv_heads; ++h)
                compare_selection(dump, h);
    }

    void take_statistics(const Dump& dump, int head)
    {
        const Dump::List& from = dump.lists[static_cast<size_t>(head)];
        ReferenceList& list = policy_.list(dump.layer, head);
        REQUIRE(list.size() == from.stream.size());
        const auto group = static_cast<size_t>(c_.heads / c_.kv_heads);
        for (size_t j = 0; j < list.size(); ++j) {
            REQUIRE(list[j].stream == from.stream[j]);
            if (from.sum.empty()) continue;
            list[j].sum = from.sum[j];
            list[j].count = from.count[j];
            if (from.moments.empty()) continue;
            list[j].moments.resize(group);
            for (size_t g = 0; g < group; ++g)
                list[j].moments[g] = {from.moments[(j * group + g) * 2], from.moments[(j * group + g) * 2 + 1]};
        }
    }

    void compare_signals(const Dump& dump)
    {
        const auto group = static_cast<size_t>(c_.heads / c_.kv_heads);
        std::vector<ReferenceSignals> heads;
        for (int h = 0; h < c_.kv_heads; ++h) {
            const ReferenceSignals& expected = heads.emplace_back(expected_[at(dump.layer, h)]);
            const Dump::List& seen = dump.lists[static_cast<size_t>(h)];
            const auto question_rows = static_cast<size_t>(dump.seen.rows - dump.rows);
            REQUIRE(seen.sum.size() + question_rows == expected.list().size());
            for (size_t j = 0; j < seen.sum.size(); ++j) {
                const ReferenceEntry& entry = expected.list()[j];
                note(seen.sum[j], entry.sum, expected.close_calls(j));
                if (std::abs(seen.count[j] - entry.count) > 1e-9 * entry.count) FAIL("other counts");
                for (size_t g = 0; g < group && !seen.moments.empty(); ++g) {
                    note(seen.moments[(j * group + g) * 2], entry.moments[g].sum, 0);
                    note(seen.moments[(j * group + g) * 2 + 1], entry.moments[g].squares, 0);
                }
                if (!dump.seen.entropies.empty())
                    note(dump.seen.entropies[static_cast<size_t>(h)][j], expected.entropies()[j], 0);
            }
        }
        const bool looked_at = dump.seen.rows >= session_.policy().signals().statistics_rows;
        if (policy_.settings().row_statistic.empty() || !looked_at) return;
        const ReferenceObservation expected = observation_of(heads, dump.seen.rows, static_cast<int>(group));
        const double error = std::abs(dump.seen.row_statistic - expected.row_statistic) - expected.rounding;
        worst_statistic = std::max(worst_statistic, error);
    }

    // `close_calls`: number of rows in which rounding decides whether the entry counts as low.
    void note(double value, double expected, int close_calls)
    {
        const double error = std::max(0.0, std::abs(value - expected) - close_calls);
        worst_signal = std::max(worst_signal, error / std::max(std::abs(expected), 1.0));
    }

    void compare_selection(const Dump& dump, int head)
    {
        const Dump::List& list = dump.lists[static_cast<size_t>(head)];
        std::vector<uint32_t> kept, expected;
        for (uint32_t rank = 0; rank < list.stream.size(); ++rank)
            if (!std::binary_search(list.dropped.begin(), list.dropped.end(), rank))
                kept.push_back(list.stream[rank]);
        for (const ReferenceEntry& entry : policy_.list(dump.layer, head))
            expected.push_back(entry.stream);
        std::vector<ReferenceMerge> merges;
        for (const Merge& merge : list.merges) {
            if (merge.of.size() < 2) continue;
            merges.push_back({.into = list.stream[merge.into], .of = {}});
            for (const uint32_t rank : merge.of)
                merges.back().of.push_back(list.stream[rank]);
            stream_.merge(dump.layer, head, merge.into, merge.of, merge.keys == KeyMean::Rotated);
        }
        ++selections;
        evicted += static_cast<int>(list.dropped.size());
        wrong_selections += kept != expected || merges != policy_.merges(dump.layer, head);
        stream_.drop(dump.layer, head, list.dropped);
    }

    void compare_logits(const std::vector<double>& expected)
    {
        const std::vector<float>& logits = session_.logits();
        double largest = 0;
        for (const double x : expected)
            largest = std::max(largest, std::abs(x));
        for (size_t i = 0; i < logits.size(); ++i)
            worst_logit = std::max(worst_logit, std::abs(logits[i] - expected[i]) / largest);
    }

    size_t at(int layer, int head) const { return static_cast<size_t>(layer * c_.kv_heads + head); }

    ReferenceModel reference_model_;
    const ModelConfig& c_;
    ReferenceStream stream_;
    Session session_;
    ReferencePolicy policy_;
    std::vector<TokenId> question_;
    std::vector<ReferenceSignals> expected_; // [layers * kv_heads], empty for policies without signals
    std::vector<Dump> dumps_;
    double margin_ = 1; // smallest relative difference that decided what a retrieval policy reads
};

void check(const Replay& replay, const Replayed& setting)
{
    INFO(setting.policy << ", chunk " << setting.chunk << ", kv heads " << setting.kv_heads << ", "
                        << (setting.positions == PositionMode::Contiguous ? "contiguous" : "original"));
    INFO("worst signal error " << replay.worst_signal << ", statistic " << replay.worst_statistic << ", logit "
                               << replay.worst_logit);
    CHECK(replay.selections > 0);
    CHECK(replay.wrong_selections == 0);
    CHECK(replay.worst_signal < 1e-5);
    CHECK(replay.worst_statistic < 1e-5);
    CHECK(replay.worst_logit < 5e-5); // f32 against f64, after 8 layers of random weights
}

void replay_once(const Replayed& setting, size_t length)
{
    const auto model = load({.layers = 8, .kv_heads = setting.kv_heads, .seed = 3});
    Replay replay(model, setting);
    replay.feed(random_tokens(length, model->config().vocabulary, 11));
    replay.generate(20);
    check(replay, setting);
    const std::string name = setting.policy.substr(0, setting.policy.find(':'));
    INFO(setting.policy);
    if (name != "full" && name != "quest" && name != "twilight") CHECK(replay.evicted > 0);
    if (name == "quest" || name == "twilight") CHECK(replay.partial_reads > 0);
}

// The defaults first, then at least two other values of every parameter.
const std::vector<std::pair<std::string, std::vector<std::string>>>& policy_settings()
{
    static const std::vector<std::pair<std::string, std::vector<std::string>>> all = {
        {"full", {""}},
        {"streaming", {"", "sinks=0", "sinks=9,schedule=every:30"}},
        {"random",
         {"", "seed=7,sinks=0", "seed=2147483647,recent=1", "recent=0,schedule=every:9", "schedule=once"}},
        {"h2o",
         {"", "score=mean", "score=mean,budget=auto", "sinks=4,recent=8", "sinks=1,recent=0", "budget=pyramid",
          "budget=auto,heads=ada", "budget=pyramid,allocation=geometric,beta=5,heads=ada,floor=0.5",
          "schedule=once", "schedule=every:7"}},
        {"scissorhands",
         {"", "sinks=2,recent=0", "sinks=5,recent=20,window=1", "window=30,drop=0.25", "drop=0.5",
          "heads=ada,budget=pyramid"}},
        {"knorm", {"", "sinks=4,recent=8", "recent=20", "schedule=every:9", "schedule=once"}},
        {"keydiff", {"", "sinks=4,recent=8", "recent=20", "schedule=every:9", "schedule=once"}},
        {"tova", {"", "sinks=4,recent=1", "sinks=1,recent=16", "budget=auto", "schedule=every:9"}},
        {"snapkv",
         {"", "sinks=4,window=8", "sinks=1,window=1,kernel=3", "kernel=9,pooling=max", "pooling=none,recent=4",
          "recent=16,budget=auto,threshold=0.05", "budget=auto,mask_sinks=0", "heads=ada", "schedule=once"}},
        {"pyramidkv",
         {"", "allocation=geometric,beta=5", "allocation=exponential,beta=2", "allocation=entropy",
          "allocation=gini,window=4,kernel=3", "allocation=sparsity,window=16", "nested=true",
          "nested=true,allocation=entropy,window=1", "sinks=4,recent=2,pooling=avg",
          "sinks=1,recent=12,pooling=none", "heads=ada"}},
        {"treekv",
         {"", "sinks=0,recent=0", "sinks=1,recent=30", "rule=left", "score=sum", "score=last,recent=8", "height=1",
          "height=3", "budget=pyramid", "budget=auto", "heads=ada,floor=0.4",
          "budget=pyramid,allocation=exponential", "schedule=every:20"}},
        {"treekv-log",
         {"", "sinks=2,recent=10", "sinks=0,recent=0", "rule=left", "score=sum", "score=last", "budget=pyramid",
          "budget=auto,threshold=0.1", "heads=ada"}},
        {"treekv-block", {"", "unit=4,sinks=4", "unit=7,recent=9", "rule=left,unit=5,recent=4,sinks=1"}},
        {"lacache",
         {"", "pattern=ladder,span=4,overlap=2", "pattern=even,span=3", "pattern=reverse,span=2,sinks=0",
          "pattern=recent,sinks=9", "pattern=old,recent=7", "span=2,compensate=true,recent=12", "survivors=score",
          "survivors=score,span=4,overlap=2"}},
        {"hbw-kv",
         {"", "window=8,block=2", "window=1,recent=4,block=5,rounds=8", "rounds=1,sinks=4", "rounds=2+3+1,window=8",
          "renormalise=true,window=8", "representative=first,window=8", "representative=last,window=4",
          "representative=max,recent=8", "representative=avg,recent=8,sinks=2",
          "representative=avg,average=rotated", "budget=pyramid,window=8", "heads=ada,window=8,budget=auto"}},
        {"chunkkv",
         {"", "window=8,block=4", "window=8,block=4,score=sum", "window=1,recent=6,block=1,sinks=2",
          "block=7,score=sum,recent=8", "budget=pyramid,window=8", "heads=ada,window=8,budget=auto"}},
        {"refreekv",
         {"", "sinks=0,recent=4", "sinks=9,recent=12", "threshold=0.1", "threshold=0.3,rows=5", "rows=5%",
          "rows=0.5%,full_layers=0", "full_layers=7", "ranking=score", "ranking=score,rows=8,threshold=0.2",
          "norm=mean,mask_sinks=0", "norm=mean,rows=4,floor=0", "mask_sinks=9,floor=20,full_layers=0",
          "ranking=score,mask_sinks=2,full_layers=0,floor=3"}},
        {"cake",
         {"", "window=8", "window=2,recent=8,gamma=5", "gamma=0,window=8", "tau1=1.6,tau2=0.4,window=8",
          "tau1=0.5,tau2=2,window=8", "kernel=3,pooling=max,window=8", "pooling=none,window=8,sinks=4",
          "window=1,recent=8", "sinks=1,window=8,heads=ada"}},
        {"adakv",
         {"", "floor=0,window=8", "floor=0.6,window=8", "floor=1,window=8", "window=8,kernel=3,pooling=avg",
          "window=4,recent=8,sinks=4,pooling=none", "recent=20,sinks=1", "budget=pyramid,window=8"}},
        {"quest", {"", "page=4", "page=7,skip_layers=0", "skip_layers=5"}},
        {"twilight", {"", "page=4,p=0.5", "page=7,skip_layers=0", "skip_layers=5,p=0.99"}},
        {"twilight-evict",
         {"", "p=0.5,window=8", "p=0.99,window=1,recent=8", "sinks=4,recent=0", "sinks=1,recent=20"}},
    };
    return all;
}

// Returns a setting with 2 or 4 KV heads and one of two position modes: `place` selects one of these four
// combinations. The defaults of every policy run in all that is_taken() admits; other settings are
// distributed over the four.
Replayed placed(const std::string& name, const std::string& keys, int32_t chunk, size_t place)
{
    Replayed out{.policy = keys.empty() ? name : name + ":" + keys, .chunk = chunk};
    out.kv_heads = place % 2 == 0 ? 2 : 4;
    out.positions = place / 2 % 2 == 0 ? PositionMode::Contiguous : PositionMode::Original;
    if (name == "full") out.budget = 4000;
    return out;
}

// Whether the combination `place` is run: all four; for a single chunk, whose cost is quadratic in its length, only
// two, which differ in heads and positions; in a quick run only one.
bool is_taken(size_t place, int32_t chunk, size_t length)
{
    if (!at_full_level()) return place == static_cast<size_t>(chunk) % 4;
    return static_cast<size_t>(chunk) < length || place == 0 || place == 3;
}

} // namespace

TEST_CASE("policies: defaults agree with the slow references over long streams")
{
    const size_t length = at_full_level() ? 3000 : 200;
    const std::array chunks = {1, 5, 64, static_cast<int32_t>(length)};
    const size_t number = GENERATE(range(size_t{0}, size_t{4}));
    const int32_t chunk = chunks[number];
    size_t index = number;
    for (const auto& [name, keys] : policy_settings()) {
        if (!runs_here(index++, chunks.size())) continue;
        DYNAMIC_SECTION(name << ", chunk " << chunk)
        {
            for (size_t place = 0; place < 4; ++place)
                if (is_taken(place, chunk, length)) replay_once(placed(name, "", chunk, place), length);
        }
    }
}

TEST_CASE("policies: every parameter agrees with the slow references over long streams")
{
    const size_t length = at_full_level() ? 3000 : 200;
    const std::vector<int32_t> chunks = {64, 5, 1, static_cast<int32_t>(length)};
    size_t number = 0;
    for (const auto& [name, keys] : policy_settings()) {
        ++number;
        DYNAMIC_SECTION(name)
        {
            for (size_t i = 1; i < keys.size(); ++i)
                if (runs_here(number + i, 5))
                    replay_once(placed(name, keys[i], chunks[i % chunks.size()], i / 2), length);
        }
    }
}

TEST_CASE("policies: with pins all policies agree with the slow references")
{
    const auto chunk = GENERATE(1, 16);
    for (const auto& [name, keys] : policy_settings()) {
        if (name == "full" || name == "quest" || name == "twilight") continue;
        DYNAMIC_SECTION(name << ", chunk " << chunk)
        {
            const bool needs_less = name == "snapkv" || name == "cake" || name == "adakv" || name == "hbw-kv" ||
                                    name == "chunkkv" || name == "twilight-evict";
            const Replayed setting{.policy = needs_less ? name + ":window=8" : name,
                                   .chunk = chunk,
                                   .budget = 64,
                                   .pins = Pins({{0, 2}, {60, 66}})};
            const auto model = load({.layers = 8, .kv_heads = 2, .seed = 3});
            const auto tokens = random_tokens(420, model->config().vocabulary, 17);
            Replay replay(model, setting);
            replay.feed(std::span(tokens).first(200));
            replay.pin(Pins({{0, 2},
                             {60, 66},
                             {150, 158},
                             {195, 203}})); // some of these tokens are evicted already, some not read yet
            replay.feed(std::span(tokens).subspan(200));
            replay.generate(20);
            check(replay, setting);
        }
    }
}

TEST_CASE("policies: with question rows policies agree with the slow references")
{
    // Observation windows that hold some question rows; all of them and rows of the chunk; everything seen.
    const auto policy = GENERATE("snapkv:window=3,recent=8", "snapkv:window=9", "cake:window=9",
                                 "pyramidkv:allocation=entropy", "treekv", "scissorhands:window=40,recent=8");
    const auto positions = GENERATE(PositionMode::Contiguous, PositionMode::Original);
    const auto model = load({.layers = 4, .kv_heads = 2, .seed = 3});
    const Replayed setting{.policy = policy,
                           .positions = positions,
                           .chunk = 16,
                           .question = random_tokens(5, model->config().vocabulary, 23)};
    Replay replay(model, setting);
    replay.feed(random_tokens(170, model->config().vocabulary, 11)); // the last chunk is short
    replay.generate(10);                                             // without question rows
    check(replay, setting);
    CHECK(replay.steered_chunks == 11);
    CHECK(replay.evicted > 0);
}

TEST_CASE("the shipped model's answer to a summary request agrees with the slow transformer")
{
    // The framing and the order are those of `palimpsest summarize`; the document is the beginning of the
    // chronicle.
    const auto model = Model::load(tests::source_file("resources/default-model/palimpsest-small.gguf"),
                                   kernels::open_backend({.device = "cpu", .threads = 2, .simd = ""}));
    std::ifstream file(tests::source_file("resources/samples/ashford-light.md"));
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

    Replay replay(model, {.policy = "treekv", .chunk = 64, .budget = 128});
    replay.feed(tokens);
    replay.generate(24);
    INFO("worst signal error " << replay.worst_signal << ", worst logit error " << replay.worst_logit);
    CHECK(tokens.size() > 300);
    CHECK(replay.wrong_selections == 0);
    // The logits of a trained model are an order of magnitude larger than those of the random models above, and so
    // is the f32 error in the argument of exp.
    CHECK(replay.worst_signal < 2e-5);
    CHECK(replay.worst_logit < 2e-5);
}
