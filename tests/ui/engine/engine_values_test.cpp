// Conversions of the engine thread, without a thread or a model: errors to sentences, attention to passages.
#include <QTest>
#include <new>
#include <stdexcept>

#include "ui/engine/failure.h"
#include "ui/engine/heaviest_passages.h"

namespace palimpsest::ui {

class EngineValuesTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void an_error_becomes_a_sentence_with_its_code();
    void other_exceptions_become_failures();
    void a_passage_stays_within_one_document();
    void the_heaviest_passage_comes_first_and_none_overlap();
    void tracing_a_longer_question_needs_more_memory();
};

void EngineValuesTest::an_error_becomes_a_sentence_with_its_code()
{
    const auto error = [](ErrorCode code) {
        return Error(ErrorKind::Failed, code, Text::verbatim("x.txt"), Text("it has no text"),
                     Text("choose a smaller {0}, {1} or model", Setting::Budget, Setting::Chunk));
    };
    const Failure failure = failure_of(error(ErrorCode::EmptyDocument));
    QCOMPARE(failure.code, ErrorCode::EmptyDocument);
    QCOMPARE(failure.sentence,
             QStringLiteral("x.txt: it has no text; choose a smaller budget, chunk or model [PAL-DOC-03]"));
    QVERIFY(!failure.with_model);
    QVERIFY(failure_of(error(ErrorCode::ModelG2)).with_model);
}

void EngineValuesTest::other_exceptions_become_failures()
{
    QCOMPARE(failure_of(std::bad_alloc()).code, ErrorCode::OutOfMemory);
    const Failure failure = failure_of(std::runtime_error("oh"));
    QCOMPARE(failure.code, ErrorCode::Internal);
    QCOMPARE(failure.sentence, QStringLiteral("internal error: oh; this is a bug; please report it [PAL-RUN-70]"));
}

namespace {

std::vector<engine::AttendedToken> evenly(uint32_t first, uint32_t last, double weight)
{
    std::vector<engine::AttendedToken> tokens;
    for (uint32_t token = first; token < last; ++token)
        tokens.push_back({token, weight});
    return tokens;
}

} // namespace

void EngineValuesTest::a_passage_stays_within_one_document()
{
    const std::vector<StreamRange> documents = {{10, 50}, {50, 90}, {100, 130}};
    const auto passages = heaviest_passages(evenly(0, 140, 0.01), documents);
    QCOMPARE(passages.size(), size_t{3});
    double all = 0;
    for (const Provenance::Source& source : passages) {
        QVERIFY(std::find(documents.begin(), documents.end(), source.range) != documents.end());
        all += source.weight;
    }
    QVERIFY(std::abs(all - 1) < 1e-9);
}

void EngineValuesTest::the_heaviest_passage_comes_first_and_none_overlap()
{
    auto attended = evenly(0, 1000, 0.0001);
    attended[600].weight = 0.5;
    attended[200].weight = 0.2;
    attended[2].weight = 0.9; // sinks attract attention whatever their text is, so they are no source
    const auto passages = heaviest_passages(attended, {{0, 1000}});
    QVERIFY(passages.size() >= 2);
    const auto holds = [&](size_t i, uint64_t token) {
        return passages[i].range.first <= token && token < passages[i].range.last;
    };
    QVERIFY(holds(0, 600));
    QVERIFY(holds(1, 200));
    for (size_t i = 0; i < passages.size(); ++i)
        for (size_t j = 0; j < i; ++j)
            QVERIFY(passages[i].range.first >= passages[j].range.last ||
                    passages[j].range.first >= passages[i].range.last);
    QVERIFY(heaviest_passages(attended, {}).empty());
    QVERIFY(heaviest_passages({}, {{0, 10}}).empty());
}

void EngineValuesTest::tracing_a_longer_question_needs_more_memory()
{
    engine::ModelConfig model;
    model.layers = 4;
    model.heads = 8;
    model.kv_heads = 2;
    engine::Telemetry session;
    session.cache_bytes = 1 << 20;
    session.slots_capacity = 8 * 512;
    QCOMPARE(trace_bytes(model, session, 0), uint64_t{3} << 20);
    QCOMPARE(trace_bytes(model, session, 100), (uint64_t{3} << 20) + uint64_t{8} * 100 * 612 * 4);
}

} // namespace palimpsest::ui

QTEST_GUILESS_MAIN(palimpsest::ui::EngineValuesTest)
#include "engine_values_test.moc"
