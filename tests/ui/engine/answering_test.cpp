// Questions to the engine thread and their answers: where they come from, stopped, regenerated, edited and undone.
#include <QTest>
#include <algorithm>

#include "storage/notes/note_text.h"
#include "storage/session/store.h"
#include "tests/ui/engine/engine_fixture.h"
#include "tests/ui/support/patience.h"
#include "tests/ui/support/sanitized.h"
#include "ui/engine/tools.h"

namespace palimpsest::ui {

class AnsweringTest : public EngineFixture {
    Q_OBJECT
private Q_SLOTS:
    void init() { start(); }
    void cleanup() { end(); }
    void a_question_about_a_document_is_answered();
    void a_question_reads_what_is_forgotten_again();
    void where_answers_come_from_is_kept_with_them();
    void a_question_that_waits_is_answered_from_what_was_read();
    void an_answer_is_stopped_and_regenerated();
    void an_edited_question_begins_a_branch();
    void undo_removes_the_last_turn();
    void questions_wait_for_the_reading_and_can_be_cancelled();
    void a_question_without_a_session_begins_one();
};

void AnsweringTest::a_question_about_a_document_is_answered()
{
    begin(QStringLiteral("Ashford"));
    QCOMPARE(told_->readings, (std::vector{std::pair(QStringLiteral("book1.md"), true)}));
    QCOMPARE(facts()->name, QStringLiteral("Ashford"));
    QCOMPARE(facts()->documents.size(), size_t{1});
    QCOMPARE(facts()->tokens_read, facts()->tokens_in_input);
    QVERIFY(facts()->tokens_read > test::sized(1000U));
    const uint64_t before = engine_->frame()->telemetry.tokens_seen;

    engine_->ask(QStringLiteral("Who was the first keeper?"));
    QVERIFY(wait_until_idle());
    QCOMPARE(failure(), QString());
    QCOMPARE(told_->answers.size(), size_t{1});
    const auto now = facts();
    QCOMPARE(now->turns.size(), size_t{2});
    QCOMPARE(now->turns[0].text, QStringLiteral("Who was the first keeper?"));
    QVERIFY(!now->turns[1].text.isEmpty());
    QVERIFY(engine_->frame()->telemetry.tokens_seen > before);
    QVERIFY(now->turns[1].provenance.has_value());
    const Provenance& provenance = *now->turns[1].provenance;
    QCOMPARE(provenance.tokens_read, now->tokens_in_input);
    QVERIFY(!provenance.sources.empty());
    for (const Provenance::Source& source : provenance.sources) {
        QVERIFY(source.range.first >= now->documents[0].range.first);
        QVERIFY(source.range.last <= now->documents[0].range.last);
        QVERIFY(source.weight > 0 && source.weight <= 1);
        QVERIFY(source.held > 0 && source.held <= 1);
    }
}

void AnsweringTest::a_question_reads_what_is_forgotten_again()
{
    engine_->begin_session({.name = QStringLiteral("Ashford"),
                            .policy = QStringLiteral("streaming"),
                            .budget = QStringLiteral("512"),
                            .chunk = 128},
                           {book_with_door()});
    QVERIFY(wait_until_idle());
    engine_->ask(QStringLiteral("Who painted the door of the boathouse?"));
    QVERIFY(wait_until_idle());
    QCOMPARE(failure(), QString());
    const auto now = facts();
    QVERIFY(!now->turns[0].read_again);
    const auto& again = now->turns[1].read_again;
    QVERIFY(again && again->tokens > 0 && again->tokens <= 256 && again->held < 0.9);
    // Its sources are shown at their places in the document, also those that were read again.
    QVERIFY(now->turns[1].provenance);
    const std::vector<Provenance::Source>& sources = now->turns[1].provenance->sources;
    const auto is_again = [](const Provenance::Source& source) { return source.read_again; };
    QVERIFY(now->turns[1].provenance->is_from_sources_alone);
    QVERIFY(!sources.empty() && std::all_of(sources.begin(), sources.end(), is_again));
    for (const Provenance::Source& source : sources)
        QVERIFY(source.range.last <= now->documents[0].range.last);
    QVERIFY(now->turns[1].provenance->quote);
    const QuotedSentence quote = *now->turns[1].provenance->quote;
    QVERIFY(quote.range.last <= now->documents[0].range.last && quote.range.first < quote.range.last);
    QString text;
    engine_->run({}, [&](EngineThread::Tools& tools) {
        const uint64_t first = quote.range.first - now->documents[0].range.first;
        const int64_t document = now->documents[0].info.id;
        const auto ends = tools.store.library.token_ends(document, 0, first + quote.range.last - quote.range.first);
        text = QString::fromStdString(
            tools.store.library.text(document, first == 0 ? 0 : ends[first - 1], ends.back()));
    });
    QVERIFY(wait_until_idle());
    QVERIFY2(text.contains(QString::fromStdString(quote.text)), qPrintable(text));

    engine_->set_answers_from_sentences(false);
    engine_->ask(QStringLiteral("Who painted the door of the boathouse?"));
    QVERIFY(wait_until_idle());
    QVERIFY(facts()->turns[3].read_again);
    const auto& traced = facts()->turns[3].provenance;
    QVERIFY(traced && !traced->is_from_sources_alone);
    QVERIFY(std::any_of(traced->sources.begin(), traced->sources.end(), is_again));

    engine_->set_rereads(false);
    engine_->ask(QStringLiteral("Who painted the door of the boathouse?"));
    QVERIFY(wait_until_idle());
    QVERIFY(!facts()->turns[5].read_again);
}

void AnsweringTest::where_answers_come_from_is_kept_with_them()
{
    engine_->begin_session({.name = QStringLiteral("Ashford"), .budget = QStringLiteral("512"), .chunk = 128},
                           {book_with_door()});
    engine_->ask(QStringLiteral("Who painted the door of the boathouse?"));
    QVERIFY(wait_until_idle());
    QCOMPARE(failure(), QString());
    const auto first = facts()->turns[1].provenance;
    QVERIFY(first && first->quote && first->is_from_sources_alone);
    engine_->regenerate(); // another answer quotes from the same passages
    QVERIFY(wait_until_idle());
    QVERIFY(facts()->turns[1].provenance && facts()->turns[1].provenance->quote);
    engine_->ask(QStringLiteral("What was in the seventeenth volume?"));
    engine_->undo();
    engine_->regenerate(); // and not from what was found for another question
    QVERIFY(wait_until_idle());
    QCOMPARE(facts()->turns.size(), size_t{2});
    QVERIFY(facts()->turns[1].provenance && facts()->turns[1].provenance->is_from_sources_alone);
    QVERIFY(facts()->turns[1].provenance->quote);
    QVERIFY(facts()->turns[1].provenance->quote->range.last < 300); // of the passage with the door
    engine_->set_answers_from_sentences(false);
    engine_->ask(QStringLiteral("What was in the seventeenth volume?"));
    QVERIFY(wait_until_idle());
    const auto before = facts();
    start(QString(engine_->database()));
    engine_->open_session(QStringLiteral("Ashford"));
    QVERIFY(wait_until_idle());
    QCOMPARE(facts()->turns.size(), size_t{4});
    for (const size_t answer : {1, 3}) {
        QVERIFY(facts()->turns[answer].provenance && !facts()->turns[answer].provenance->sources.empty());
        QVERIFY(facts()->turns[answer].provenance == before->turns[answer].provenance);
    }
}

void AnsweringTest::a_question_that_waits_is_answered_from_what_was_read()
{
    engine_->begin_session({.name = QStringLiteral("Ashford"), .budget = QStringLiteral("512"), .chunk = 128},
                           {book_with_door()});
    const quint64 asked = engine_->ask(QStringLiteral("Who painted the door of the boathouse?"));
    engine_->ask(QStringLiteral("The door is green.")); // no question: the session answers it
    QVERIFY(wait_until_idle());
    QCOMPARE(failure(), QString());
    QVERIFY(!told_->early.empty());
    double share = 0;
    for (const auto& [id, reply] : told_->early) { // it is answered again as more is read
        QCOMPARE(id, asked);
        QVERIFY(!reply.text.isEmpty());
        // It has up to 96 tokens, within which the shipped model repeats itself.
        QVERIFY2(!storage::repeats_itself(reply.text.toStdString()), qPrintable(reply.text));
        QCOMPARE(reply.quote, QStringLiteral("Tobias painted the door of the boathouse green."));
        QVERIFY(!reply.place.isEmpty());
        QVERIFY(reply.share > share && reply.share < 1);
        share = reply.share;
    }
    QCOMPARE(told_->answers.size(), size_t{2}); // it was answered again at the end
    QCOMPARE(facts()->turns.size(), size_t{4});
}

void AnsweringTest::an_answer_is_stopped_and_regenerated()
{
    begin(QStringLiteral("Ashford"));
    // All tokens are about equally likely, so the answer ends after thousands of them, long after it is stopped.
    engine_->set_sampling({.temperature = 100, .seed = 1}, 100000);
    engine_->ask(QStringLiteral("Tell me all of it."));
    QVERIFY(test::eventually([&] { return !engine_->frame()->answer.isEmpty(); }));
    engine_->stop();
    QVERIFY(wait_until_idle());
    QCOMPARE(facts()->turns.size(), size_t{2});
    QCOMPARE(facts()->turns[1].state, storage::MessageState::Stopped);
    const QString first = facts()->turns[1].text;
    QVERIFY(!first.isEmpty());
    QVERIFY(facts()->turns[1].provenance);
    QVERIFY(!facts()->turns[1].provenance->sources.empty());
    QCOMPARE(told_->answers.size(), size_t{1});

    engine_->set_sampling({.temperature = 0.9F, .seed = 7}, 16);
    engine_->regenerate();
    QVERIFY(wait_until_idle());
    QCOMPARE(failure(), QString());
    QCOMPARE(facts()->turns.size(), size_t{2});
    QCOMPARE(facts()->turns[1].earlier, std::vector<QString>{first});
    QVERIFY(facts()->turns[1].text != first);
}

void AnsweringTest::an_edited_question_begins_a_branch()
{
    begin(QStringLiteral("Ashford"));
    engine_->ask(QStringLiteral("First?"));
    engine_->ask(QStringLiteral("Second?"));
    QVERIFY(wait_until_idle());
    QCOMPARE(facts()->turns.size(), size_t{4});
    engine_->branch(facts()->turns[2].message, QStringLiteral("Another second?"));
    QVERIFY(wait_until_idle());
    QCOMPARE(failure(), QString());
    QVERIFY(facts()->name != QStringLiteral("Ashford"));
    QCOMPARE(facts()->turns.size(), size_t{4});
    QCOMPARE(facts()->turns[0].text, QStringLiteral("First?"));
    QCOMPARE(facts()->turns[2].text, QStringLiteral("Another second?"));
    engine_->open_session(QStringLiteral("Ashford"));
    QVERIFY(wait_until_idle());
    QCOMPARE(facts()->turns[2].text, QStringLiteral("Second?"));
}

void AnsweringTest::undo_removes_the_last_turn()
{
    begin(QStringLiteral("Ashford"));
    const uint64_t before = engine_->frame()->telemetry.tokens_seen;
    engine_->ask(QStringLiteral("First?"));
    engine_->undo();
    QVERIFY(wait_until_idle());
    QVERIFY(facts()->turns.empty());
    QCOMPARE(engine_->frame()->telemetry.tokens_seen, before);
}

void AnsweringTest::questions_wait_for_the_reading_and_can_be_cancelled()
{
    engine_->begin_session({.name = QStringLiteral("long"), .budget = QStringLiteral("256")}, {book(6)});
    const CommandId first = engine_->ask(QStringLiteral("Waits?"));
    const CommandId second = engine_->ask(QStringLiteral("Taken back?"));
    QCOMPARE(told_->queued.size(), size_t{2});
    engine_->cancel(second);
    QVERIFY(wait_until_idle());
    QCOMPARE(told_->begun, std::vector<quint64>{first});
    QCOMPARE(facts()->turns.size(), size_t{2});
    QVERIFY(std::find(told_->finished.begin(), told_->finished.end(), std::pair(quint64{second}, true)) !=
            told_->finished.end());
}

void AnsweringTest::a_question_without_a_session_begins_one()
{
    engine_->load_model({});
    engine_->ask(QStringLiteral("Who are you?"), {.name = QStringLiteral("talk"), .budget = QStringLiteral("256")});
    engine_->ask(QStringLiteral("And who am I?"), {.name = QStringLiteral("not this")});
    QVERIFY(wait_until_idle());
    QCOMPARE(failure(), QString());
    QCOMPARE(facts()->name, QStringLiteral("talk"));
    QCOMPARE(facts()->turns.size(), size_t{4});
}

} // namespace palimpsest::ui

QTEST_GUILESS_MAIN(palimpsest::ui::AnsweringTest)
#include "answering_test.moc"
