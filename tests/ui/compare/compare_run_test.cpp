// A comparison feeds every chunk of a text to several policies; each policy gets the same result as in a reading of
// its own. Uses the shipped model.

#include <QFile>
#include <QTemporaryDir>
#include <QTest>
#include <QThread>
#include <ctime>
#include <thread>

#include "engine/policy/policy.h"
#include "engine/session/token_loss.h"
#include "kernels/base/error.h"
#include "storage/document_import.h"
#include "tests/support/project_folders.h"
#include "ui/compare/compare_export.h"
#include "ui/compare/compare_run.h"
#include "ui/compare/compare_start.h"
#include "ui/engine/tools.h"

using namespace palimpsest;
using namespace palimpsest::ui;

namespace {

constexpr int32_t chunk = 96;
constexpr size_t text_tokens = 1500; // not a multiple of the chunk

engine::SessionOptions options_of(const std::string& policy, int32_t budget)
{
    engine::SessionOptions options;
    options.policy = engine::PolicySpec::parse(policy);
    options.budget = budget;
    options.chunk = chunk;
    return options;
}

struct Alone {
    engine::RetentionMap kept;
    double perplexity = 0;
    engine::Telemetry telemetry;
};

Alone read_alone(const std::shared_ptr<const engine::Model>& model, const engine::SessionOptions& options,
                 std::span<const engine::TokenId> tokens)
{
    engine::Session session(model, options);
    double nats = 0;
    uint64_t losses = 0;
    engine::FeedOptions feed;
    feed.loss = [&](uint64_t, engine::TokenId, double nll) { nats += nll, ++losses; };
    session.feed(tokens, feed);
    session.finish(feed);
    return {session.retention(), std::exp(nats / static_cast<double>(losses)), session.telemetry()};
}

template<class Function>
std::optional<ErrorCode> code_of(Function&& function)
{
    try {
        function();
    } catch (const Error& error) {
        return error.code();
    }
    return std::nullopt;
}

} // namespace

class CompareRunTest : public QObject {
    Q_OBJECT

    std::shared_ptr<const engine::Model> model_;
    std::vector<engine::TokenId> tokens_;

    CompareJob job_of(std::vector<Contender> contenders, size_t tokens = text_tokens) const
    {
        return {.what = "Ashford",
                .tokens = {tokens_.begin(), tokens_.begin() + static_cast<std::ptrdiff_t>(tokens)},
                .chunk = chunk,
                .contenders = std::move(contenders)};
    }

private Q_SLOTS:
    void initTestCase()
    {
        model_ = engine::Model::load(tests::source_file("resources/default-model/palimpsest-small.gguf"),
                                     kernels::open_backend({"cpu", 1, ""}));
        QFile file(QString::fromStdString(tests::source_file("resources/samples/ashford-light.md")));
        QVERIFY(file.open(QIODevice::ReadOnly));
        const QByteArray text = file.read(24'000);
        tokens_ =
            model_->tokenizer()->encode(std::string_view(text.data(), static_cast<size_t>(text.size())), true);
        QVERIFY(tokens_.size() > text_tokens);
    }

    void every_policy_gets_the_result_of_a_reading_of_its_own()
    {
        const std::vector<std::string> specs = {"treekv", "streaming", "h2o", "snapkv:budget=auto"};
        std::vector<Contender> contenders;
        for (const std::string& spec : specs)
            contenders.push_back({spec, options_of(spec, 192)});
        const auto state = compare(model_, job_of(contenders), {});
        QCOMPARE(state->phase, CompareState::Phase::Finished);
        QCOMPARE(state->share, 1.0);
        QCOMPARE(state->results.size(), specs.size());
        std::vector<engine::RetentionMap> alone;
        for (size_t i = 0; i < specs.size(); ++i) {
            const CompareResult& result = state->results[i];
            const Alone expected = read_alone(model_, contenders[i].options, std::span(tokens_).first(text_tokens));
            QVERIFY2(result.kept->tokens == expected.kept.tokens, specs[i].c_str());
            QCOMPARE(result.loss.perplexity(), expected.perplexity);
            QCOMPARE(result.loss.tokens, uint64_t{text_tokens - 1});
            QCOMPARE(result.telemetry.cache_bytes, expected.telemetry.cache_bytes);
            QCOMPARE(result.telemetry.evicted, expected.telemetry.evicted);
            QCOMPARE(result.tokens_read, uint64_t{text_tokens});
            QVERIFY(result.complete && result.tokens_per_second > 0);
            alone.push_back(expected.kept);
        }
        for (size_t a = 0; a < alone.size(); ++a)
            for (size_t b = 0; b < alone.size(); ++b)
                QCOMPARE(state->overlaps[a][b], engine::overlap(alone[a], alone[b]));
        QVERIFY(state->overlaps[0][1] < 1 && state->overlaps[0][1] > 0);
    }

    void every_step_equals_a_reading_up_to_its_token()
    {
        const std::vector<Contender> contenders = {{"treekv", options_of("treekv", 128)},
                                                   {"tova", options_of("tova", 128)}};
        const auto state = compare(model_, job_of(contenders), {});
        for (const size_t at : {size_t{0}, size_t{4}, size_t{9}}) {
            const uint64_t tokens = state->results[0].steps.entries()[at].tokens;
            QCOMPARE(tokens, (at + 1) * chunk);
            const auto first = read_alone(model_, contenders[0].options, std::span(tokens_).first(tokens));
            const auto second = read_alone(model_, contenders[1].options, std::span(tokens_).first(tokens));
            QCOMPARE(state->results[0].steps.entries()[at].sample.perplexity, first.perplexity);
            QCOMPARE(state->results[1].steps.entries()[at].sample.perplexity, second.perplexity);
            QCOMPARE(state->results[1].steps.entries()[at].sample.overlap,
                     std::optional(engine::overlap(first.kept, second.kept)));
            QCOMPARE(state->results[0].steps.entries()[at].sample.overlap, std::optional(1.0));
        }
        QCOMPARE(state->results[0].steps.entries().size(), (text_tokens + chunk - 1) / chunk);
    }

    void a_retrieval_policy_is_measured_token_by_token()
    {
        const size_t tokens = 300;
        const auto state = compare(
            model_,
            job_of({{"streaming", options_of("streaming", 64)}, {"quest", options_of("quest", 64)}}, tokens), {});
        auto options = options_of("quest", 64);
        options.chunk = 1;
        engine::Session session(model_, options);
        session.feed(std::span(tokens_).first(1));
        engine::LossMeter meter;
        for (size_t i = 1; i < tokens; ++i) {
            meter.add(i, engine::negative_log_likelihood(session.logits(), tokens_[i]));
            session.replay(std::span(tokens_).subspan(i, 1), false);
        }
        QCOMPARE(state->results[1].loss.perplexity(), meter.all().perplexity());
        QVERIFY(state->results[1].kept->tokens == session.retention().tokens);
    }

    void a_policy_that_evicts_nothing_stops_when_its_cache_is_full()
    {
        const auto state = compare(
            model_, job_of({{"full", options_of("full", 400)}, {"streaming", options_of("streaming", 128)}}), {});
        const CompareResult& full = state->results[0];
        QVERIFY(!full.complete);
        QCOMPARE(full.tokens_read, uint64_t{400});
        QVERIFY(state->results[1].complete);
        QCOMPARE(state->results[1].tokens_read, uint64_t{text_tokens});
        for (const auto& [tokens, step] : state->results[1].steps.entries())
            QCOMPARE(step.overlap.has_value(), tokens <= 400 - 400 % chunk);
    }

    void published_states_are_few_and_only_grow()
    {
        std::vector<std::shared_ptr<const CompareState>> told;
        const auto last =
            compare(model_, job_of({{"treekv", options_of("treekv", 128)}, {"h2o", options_of("h2o", 128)}}), {},
                    [&](std::shared_ptr<const CompareState> state) { told.push_back(std::move(state)); });
        QVERIFY(!told.empty());
        QCOMPARE(told.back(), last);
        for (size_t i = 1; i < told.size(); ++i) {
            QVERIFY(told[i]->share >= told[i - 1]->share);
            QVERIFY(told[i]->results[1].steps.entries().size() >= told[i - 1]->results[1].steps.entries().size());
        }
        for (size_t i = 0; i + 1 < told.size(); ++i)
            QCOMPARE(told[i]->phase, CompareState::Phase::Running);
        QVERIFY(told.size() <= 2 * (text_tokens / chunk + 1) + 1);
    }

    void a_comparison_stops_on_request()
    {
        std::stop_source stop;
        const auto before =
            compare(model_, job_of({{"treekv", options_of("treekv", 128)}, {"h2o", options_of("h2o", 128)}}),
                    stop.get_token(), [&](const std::shared_ptr<const CompareState>& state) {
                        if (state->share > 0.1) stop.request_stop();
                    });
        QCOMPARE(before->phase, CompareState::Phase::Stopped);
        QVERIFY(before->share < 1);
        QVERIFY(before->results[0].tokens_read < text_tokens);
        std::stop_source at_once;
        at_once.request_stop();
        const auto none =
            compare(model_, job_of({{"treekv", options_of("treekv", 128)}, {"h2o", options_of("h2o", 128)}}),
                    at_once.get_token());
        QCOMPARE(none->phase, CompareState::Phase::Stopped);
        QCOMPARE(none->results[0].tokens_read, uint64_t{0});
    }

    // The whole text is one chunk, which takes long; a stop does not wait for its end.
    void a_comparison_stops_within_a_chunk()
    {
        auto options = options_of("h2o", 64);
        options.chunk = 1400;
        options.stops_within_chunk = true;
        CompareJob job = job_of({{"h2o", options}, {"h2o", options}}, 1400);
        job.chunk = 1400;
        std::clock_t begin = std::clock();
        QCOMPARE(compare(model_, job, {})->phase, CompareState::Phase::Finished);
        const std::clock_t whole = std::clock() - begin;
        // Stops after a quarter of the total processor time, within the first policy's chunk. Repeats if a busy
        // machine wakes the stopper only after that chunk. Code that finishes the chunk before it stops would have
        // read tokens in every attempt, and fail below.
        std::shared_ptr<const CompareState> state;
        for (int attempt = 0; attempt < 50 && (!state || state->results[0].tokens_read > 0); ++attempt) {
            std::stop_source stop;
            begin = std::clock();
            const std::jthread stopper([&](const std::stop_token& end) {
                while (std::clock() - begin < whole / 4 && !end.stop_requested())
                    QThread::usleep(100);
                stop.request_stop();
            });
            state = compare(model_, job, stop.get_token());
        }
        QCOMPARE(state->phase, CompareState::Phase::Stopped);
        QCOMPARE(state->results[0].tokens_read, uint64_t{0}); // the whole text is one chunk
        QVERIFY(std::clock() - begin >= whole / 4);
    }

    void memory_is_checked_before_a_comparison()
    {
        const std::vector<Contender> two = {{"treekv", options_of("treekv", 512)}, {"h2o", options_of("h2o", 512)}};
        const uint64_t needed = memory_of(*model_, two);
        uint64_t cache = 0;
        for (const Contender& contender : two)
            cache += engine::Session(model_, contender.options).telemetry().cache_bytes;
        QVERIFY(needed >= cache);
        QVERIFY(needed < 20 * cache);
        QVERIFY(memory_left(*model_) > 0);
        require_memory(needed, needed, 2);
        QCOMPARE(code_of([&] { require_memory(needed, needed - 1, 2); }),
                 std::optional(ErrorCode::MemoryPlanDoesNotFit));
    }

    void a_wrong_number_of_policies_or_a_bad_policy_is_refused()
    {
        const Contender one{"treekv", options_of("treekv", 128)};
        QCOMPARE(code_of([&] { compare(model_, job_of({one}), {}); }), std::optional(ErrorCode::ValueNotPossible));
        QCOMPARE(code_of([&] {
                     compare(model_, job_of({one, one, one, one, one}), {});
                 }),
                 std::optional(ErrorCode::ValueNotPossible));
        QCOMPARE(code_of([&] {
                     compare(model_, job_of({one, one}, 0), {});
                 }),
                 std::optional(ErrorCode::ValueNotPossible));
        const Contender wrong{"treekv:leap=1", options_of("treekv:leap=1", 128)};
        QCOMPARE(code_of([&] {
                     compare(model_, job_of({one, wrong}), {});
                 }),
                 std::optional(ErrorCode::UnknownPolicyParameter));
        const Contender large{"treekv", options_of("treekv", 1 << 20)};
        QCOMPARE(code_of([&] {
                     compare(model_, job_of({one, large}), {});
                 }),
                 std::optional(ErrorCode::BudgetDoesNotFit));
    }

    // The documents are named in the request, because another session may be open by the time the comparison runs.
    void a_document_of_another_database_or_model_is_refused()
    {
        const auto import = [&](storage::Store& store, const std::string& tokenizer, size_t tokens) {
            storage::Import document(store.database, "Ashford", "-", tokenizer);
            std::vector<engine::EncodedToken> encoded;
            for (size_t i = 0; i < tokens; ++i)
                encoded.push_back({tokens_[i], i, i + 1});
            document.add_text(std::string(tokens, 'x'));
            document.add_tokens(encoded);
            document.add_page({.label = "i", .first_token = 0, .first_byte = 0});
            document.add_page({.label = "ii", .first_token = 0, .first_byte = 0});
            return store.library.get(document.finish({}));
        };
        storage::Store store, another;
        const storage::DocumentInfo wanted = import(store, model_->fingerprint(), 300);
        QCOMPARE(import(another, model_->fingerprint(), 200).id, wanted.id);
        const auto compared = [&](storage::Store& open, const storage::DocumentInfo& document) {
            storage::Listener listener;
            EngineThread::Tools tools{.model = model_,
                                      .store = open,
                                      .session = nullptr,
                                      .stop = {},
                                      .listener = listener,
                                      .progress = [](double, std::optional<double>) {}};
            CompareRequest request;
            request.what = QStringLiteral("Ashford");
            request.documents = {document};
            request.choices = {{QStringLiteral("treekv"), QStringLiteral("128")},
                               {QStringLiteral("streaming"), QStringLiteral("128")}};
            request.chunk = chunk;
            return compare(tools, request, [](const auto&) {});
        };
        const auto state = compared(store, wanted);
        QCOMPARE(state->tokens_total, uint64_t{model_->tokenizer()->adds_bos() ? 301u : 300u});
        QCOMPARE(state->coverage.tokens_in_input, uint64_t{300});
        QCOMPARE(state->coverage.tokens_read, uint64_t{300});
        QCOMPARE(state->coverage.pages_without_text, std::vector<std::string>{"i"});
        QCOMPARE(code_of([&] { compared(another, wanted); }), std::optional(ErrorCode::DocumentNotFound));
        storage::Store empty;
        QCOMPARE(code_of([&] { compared(empty, wanted); }), std::optional(ErrorCode::DocumentNotFound));
        const storage::DocumentInfo foreign = import(store, "another model", 300);
        QCOMPARE(code_of([&] { compared(store, foreign); }), std::optional(ErrorCode::DocumentOfOtherModel));
    }

    void an_export_has_all_results()
    {
        const auto state = compare(
            model_, job_of({{"treekv", options_of("treekv", 128)}, {"h2o", options_of("h2o", 64)}}, 480), {});
        QTemporaryDir folder;
        const QString path = folder.filePath(QStringLiteral("comparison.json"));
        write_file(path, comparison_file(state));
        QFile file(path);
        QVERIFY(file.open(QIODevice::ReadOnly));
        const auto read = nlohmann::ordered_json::parse(file.readAll().toStdString());
        QCOMPARE(read.at("schema").get<std::string>(), std::string("palimpsest.comparison/1"));
        QCOMPARE(read.at("state").get<std::string>(), std::string("finished"));
        for (size_t i = 0; i < 2; ++i) {
            const auto& result = read.at("results")[i];
            QCOMPARE(result.at("perplexity").get<double>(), state->results[i].loss.perplexity());
            QCOMPARE(result.at("policy").at("name").get<std::string>(), state->results[i].spec);
            QCOMPARE(result.at("steps").size(), state->results[i].steps.entries().size());
            for (const char* key :
                 {"protocol", "tokens_seen", "complete", "mean_loss", "tokens_per_second", "memory", "reach"})
                QVERIFY2(result.contains(key), key);
            QVERIFY(result.at("policy").contains("budgets"));
            const auto& head = result.at("heads").back();
            const engine::RetentionMap& map = *state->results[i].kept;
            QVERIFY(head.at("tokens").get<std::vector<uint32_t>>() == map.of(map.layers - 1, map.kv_heads - 1));
        }
        for (const char* key : {"name", "file", "fingerprint", "layers", "kv_heads"})
            QVERIFY2(read.at("model").contains(key), key);
        QCOMPARE(read.at("overlaps")[0].at("overlap").get<double>(), state->overlaps[0][1]);
        const QString nowhere = folder.filePath(QStringLiteral("no/such/folder"));
        QCOMPARE(code_of([&] { write_file(nowhere, comparison_file(state)); }),
                 std::optional(ErrorCode::InaccessibleFile));
    }

    void the_exchange_signals_once_until_its_state_is_taken()
    {
        CompareExchange exchange;
        int told = 0;
        connect(&exchange, &CompareExchange::changed, &exchange, [&] { ++told; });
        const auto last = std::make_shared<const CompareState>();
        std::thread([&] {
            for (int i = 0; i < 100; ++i)
                exchange.put(std::make_shared<const CompareState>());
            exchange.put(last);
        }).join();
        QCoreApplication::processEvents();
        QCOMPARE(told, 1);
        QCOMPARE(exchange.take(), last);
        exchange.put(last);
        QCoreApplication::processEvents();
        QCOMPARE(told, 2);
    }
};

QTEST_MAIN(CompareRunTest)
#include "compare_run_test.moc"
