// The engine's thread with the shipped model: everything the window asks of it.
#include <QFile>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>

#include "storage/session/store.h"
#include "ui/engine/engine_thread.h"

namespace palimpsest::ui {

class EngineThreadTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void init();
    void cleanup();
    void a_document_is_read_and_asked_about();
    void a_session_goes_on_after_a_restart();
    void an_answer_is_stopped_and_made_anew();
    void an_edited_question_begins_a_branch();
    void the_last_turn_is_taken_back();
    void questions_wait_for_the_reading_and_can_be_taken_back();
    void a_stopped_reading_goes_on();
    void the_policy_changes_here_or_from_the_start();
    void passages_are_pinned_and_unpinned();
    void other_sessions_are_renamed_while_one_reads();
    void sessions_are_exported_imported_forked_and_removed();
    void pasted_text_is_a_document();
    void what_was_removed_is_gone_though_the_program_ends();
    void a_question_without_a_session_begins_one();
    void what_is_not_saved_leaves_nothing();
    void what_is_wrong_is_said_in_a_sentence();
    void frames_are_told_once_until_they_are_taken();
    void what_is_kept_is_shown_as_it_is();

private:
    QString book(int copies = 1) const; // part of the sample
    std::shared_ptr<const SessionFacts> facts() const;
    bool wait_until_idle(int milliseconds = 120000) const;
    void begin(const QString& name, const QString& policy = QStringLiteral("treekv"), int copies = 1);
    QString failure() const; // the last one's code

    QTemporaryDir folder_;
    std::unique_ptr<EngineThread> engine_;
    std::unique_ptr<QSignalSpy> sessions_, failures_, answers_;
    int number_ = 0;
};

QString EngineThreadTest::book(int copies) const
{
    QFile sample(QStringLiteral(PALIMPSEST_SOURCE_DIR "/resources/samples/ashford-light.md"));
    if (!sample.open(QIODevice::ReadOnly)) return {};
    const QByteArray part = sample.read(8000);
    QFile file(folder_.filePath(QStringLiteral("book%1.md").arg(copies)));
    if (!file.open(QIODevice::WriteOnly)) return {};
    for (int i = 0; i < copies; ++i)
        file.write(part);
    return file.fileName();
}

std::shared_ptr<const SessionFacts> EngineThreadTest::facts() const
{
    if (sessions_->isEmpty()) return nullptr;
    return sessions_->last()[0].value<std::shared_ptr<const SessionFacts>>();
}

bool EngineThreadTest::wait_until_idle(int milliseconds) const
{
    const bool idle = QTest::qWaitFor([&] { return engine_->is_idle(); }, milliseconds);
    QCoreApplication::processEvents();
    return idle;
}

QString EngineThreadTest::failure() const
{
    return failures_->isEmpty() ? QString() : failures_->last()[1].value<Failure>().code;
}

void EngineThreadTest::begin(const QString& name, const QString& policy, int copies)
{
    engine_->begin_session({.name = name, .policy = policy, .budget = QStringLiteral("256"), .chunk = 128},
                           {book(copies)});
    QVERIFY(wait_until_idle());
    QCOMPARE(failure(), QString());
}

void EngineThreadTest::init()
{
    const QString database = folder_.filePath(QStringLiteral("%1.db").arg(++number_));
    engine_ = std::make_unique<EngineThread>(database);
    sessions_ = std::make_unique<QSignalSpy>(engine_.get(), &EngineThread::session_changed);
    failures_ = std::make_unique<QSignalSpy>(engine_.get(), &EngineThread::failed);
    answers_ = std::make_unique<QSignalSpy>(engine_.get(), &EngineThread::answer_finished);
    engine_->set_sampling({}, 24);
}

void EngineThreadTest::cleanup()
{
    engine_.reset();
}

void EngineThreadTest::a_document_is_read_and_asked_about()
{
    QSignalSpy read(engine_.get(), &EngineThread::reading_finished);
    begin(QStringLiteral("Ashford"));
    QCOMPARE(read.count(), 1);
    QCOMPARE(facts()->name, QStringLiteral("Ashford"));
    QCOMPARE(facts()->documents.size(), size_t{1});
    QCOMPARE(facts()->tokens_read, facts()->tokens_in_input);
    QVERIFY(facts()->tokens_read > 1000);
    const uint64_t before = engine_->frame()->telemetry.tokens_seen;

    engine_->ask(QStringLiteral("Who was the first keeper?"));
    QVERIFY(wait_until_idle());
    QCOMPARE(failure(), QString());
    QCOMPARE(answers_->count(), 1);
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

void EngineThreadTest::a_session_goes_on_after_a_restart()
{
    begin(QStringLiteral("Ashford"));
    engine_->ask(QStringLiteral("Who kept the light?"));
    QVERIFY(wait_until_idle());
    const auto before = facts();
    const auto frame = engine_->frame();
    const QString database = engine_->database();
    engine_.reset();

    engine_ = std::make_unique<EngineThread>(database);
    QSignalSpy sessions(engine_.get(), &EngineThread::session_changed);
    engine_->open_session(QStringLiteral("Ashford"));
    QVERIFY(wait_until_idle());
    const auto after = sessions.last()[0].value<std::shared_ptr<const SessionFacts>>();
    QVERIFY(after);
    QCOMPARE(after->turns.size(), before->turns.size());
    QCOMPARE(after->turns[1].text, before->turns[1].text);
    QCOMPARE(engine_->frame()->telemetry.tokens_seen, frame->telemetry.tokens_seen);
    QCOMPARE(engine_->frame()->kept->tokens, frame->kept->tokens);
}

void EngineThreadTest::an_answer_is_stopped_and_made_anew()
{
    begin(QStringLiteral("Ashford"));
    engine_->set_sampling({}, 100000);
    engine_->ask(QStringLiteral("Tell me all of it."));
    QVERIFY(QTest::qWaitFor([&] { return !engine_->frame()->answer.isEmpty(); }, 60000));
    engine_->stop();
    QVERIFY(wait_until_idle());
    QCOMPARE(facts()->turns.size(), size_t{2});
    QCOMPARE(facts()->turns[1].state, storage::MessageState::Stopped);
    const QString first = facts()->turns[1].text;
    QVERIFY(!first.isEmpty());

    engine_->set_sampling({.temperature = 0.9F, .seed = 7}, 16);
    engine_->regenerate();
    QVERIFY(wait_until_idle());
    QCOMPARE(failure(), QString());
    QCOMPARE(facts()->turns.size(), size_t{2});
    QCOMPARE(facts()->turns[1].earlier, std::vector<QString>{first});
    QVERIFY(facts()->turns[1].text != first);
}

void EngineThreadTest::an_edited_question_begins_a_branch()
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

void EngineThreadTest::the_last_turn_is_taken_back()
{
    begin(QStringLiteral("Ashford"));
    const uint64_t before = engine_->frame()->telemetry.tokens_seen;
    engine_->ask(QStringLiteral("First?"));
    engine_->undo();
    QVERIFY(wait_until_idle());
    QVERIFY(facts()->turns.empty());
    QCOMPARE(engine_->frame()->telemetry.tokens_seen, before);
}

void EngineThreadTest::questions_wait_for_the_reading_and_can_be_taken_back()
{
    QSignalSpy queued(engine_.get(), &EngineThread::question_queued);
    QSignalSpy begun(engine_.get(), &EngineThread::question_begun);
    QSignalSpy finished(engine_.get(), &EngineThread::finished);
    engine_->begin_session({.name = QStringLiteral("long"), .budget = QStringLiteral("256")}, {book(6)});
    const CommandId first = engine_->ask(QStringLiteral("Waits?"));
    const CommandId second = engine_->ask(QStringLiteral("Taken back?"));
    QCOMPARE(queued.count(), 2);
    engine_->cancel(second);
    QVERIFY(wait_until_idle());
    QCOMPARE(begun.count(), 1);
    QCOMPARE(begun[0][0].toULongLong(), first);
    QCOMPARE(facts()->turns.size(), size_t{2});
    QVERIFY(std::any_of(finished.begin(), finished.end(), [&](const QList<QVariant>& one) {
        return one[0].toULongLong() == second && one[1].toBool();
    }));
}

void EngineThreadTest::a_stopped_reading_goes_on()
{
    engine_->begin_session({.name = QStringLiteral("long"), .budget = QStringLiteral("256"), .chunk = 64},
                           {book(8)});
    QVERIFY(QTest::qWaitFor([&] { return engine_->frame()->share.value_or(0) > 0.05; }, 60000));
    engine_->stop();
    QVERIFY(wait_until_idle());
    QVERIFY(facts()->tokens_read < facts()->tokens_in_input);
    engine_->ask(QStringLiteral("Too early?"));
    QVERIFY(wait_until_idle());
    QCOMPARE(failure(), QStringLiteral("PAL-SESSION-03"));
    engine_->read_on();
    QVERIFY(QTest::qWaitFor([&] { return engine_->frame()->activity == Activity::Reading; }, 60000));
    engine_->stop();
    QVERIFY(wait_until_idle());
    QVERIFY(facts()->tokens_read < facts()->tokens_in_input);

    const QString database = engine_->database();
    engine_.reset();
    engine_ = std::make_unique<EngineThread>(database);
    QSignalSpy sessions(engine_.get(), &EngineThread::session_changed);
    engine_->open_session(QStringLiteral("long"));
    QVERIFY(wait_until_idle());
    const auto again = sessions.last()[0].value<std::shared_ptr<const SessionFacts>>();
    QCOMPARE(again->tokens_read, again->tokens_in_input);
}

void EngineThreadTest::the_policy_changes_here_or_from_the_start()
{
    begin(QStringLiteral("Ashford"));
    const NewSession wish{.policy = QStringLiteral("streaming"), .budget = QStringLiteral("64"), .chunk = 64};
    engine_->change_policy(wish, false);
    engine_->ask(QStringLiteral("Now?"));
    QVERIFY(wait_until_idle());
    QCOMPARE(failure(), QString());
    QCOMPARE(facts()->name, QStringLiteral("Ashford"));
    QVERIFY(facts()->policy.startsWith(QStringLiteral("streaming")));
    const auto kept = engine_->frame()->kept;
    for (const auto& list : kept->tokens)
        QVERIFY(list.size() <= 64);

    engine_->change_policy({.policy = QStringLiteral("lacache"), .budget = QStringLiteral("256")}, true);
    QVERIFY(wait_until_idle());
    QCOMPARE(failure(), QString());
    QVERIFY(facts()->name != QStringLiteral("Ashford"));
    QVERIFY(facts()->policy.startsWith(QStringLiteral("lacache")));
    QCOMPARE(facts()->tokens_read, facts()->tokens_in_input);
    QVERIFY(facts()->turns.empty());

    // Both are there after a restart, as they were.
    const QString database = engine_->database(), name = facts()->name;
    engine_ = std::make_unique<EngineThread>(database + QStringLiteral(".other"));
    engine_ = std::make_unique<EngineThread>(database);
    QSignalSpy sessions(engine_.get(), &EngineThread::session_changed);
    engine_->open_session(QStringLiteral("Ashford"));
    QVERIFY(wait_until_idle());
    const auto again = sessions.last()[0].value<std::shared_ptr<const SessionFacts>>();
    QVERIFY(again->policy.startsWith(QStringLiteral("streaming")));
    QCOMPARE(engine_->frame()->kept->tokens, kept->tokens);
}

void EngineThreadTest::passages_are_pinned_and_unpinned()
{
    begin(QStringLiteral("Ashford"));
    const uint64_t end = facts()->documents[0].range.last;
    const StreamRange recent{end - 40, end - 20};
    engine_->pin(recent, QStringLiteral("the end"));
    QVERIFY(wait_until_idle());
    QCOMPARE(failure(), QString());
    QCOMPARE(facts()->pins.size(), size_t{1});
    QCOMPARE(facts()->pins[0].first, recent.first);
    QCOMPARE(QString::fromStdString(facts()->pins[0].label), QStringLiteral("the end"));
    engine_->unpin(recent);
    QVERIFY(wait_until_idle());
    QVERIFY(facts()->pins.empty());
    engine_->pin({0, end}, QStringLiteral("all of it"));
    QVERIFY(wait_until_idle());
    QCOMPARE(failure(), QStringLiteral("PAL-PIN-01"));
    QVERIFY(facts()->pins.empty());
}

void EngineThreadTest::other_sessions_are_renamed_while_one_reads()
{
    begin(QStringLiteral("short"));
    QSignalSpy library(engine_.get(), &EngineThread::library_changed);
    QSignalSpy read(engine_.get(), &EngineThread::reading_finished);
    engine_->begin_session({.name = QStringLiteral("long"), .budget = QStringLiteral("256"), .chunk = 64},
                           {book(12)});
    QVERIFY(QTest::qWaitFor([&] { return engine_->frame()->share.value_or(0) > 0.02; }, 60000));
    library.clear();
    engine_->rename_session(QStringLiteral("short"), QStringLiteral("brief"));
    QVERIFY(QTest::qWaitFor([&] { return library.count() > 0; }, 60000));
    QCOMPARE(read.count(), 0);                                                 // it did not have to end first
    engine_->rename_session(QStringLiteral("long"), QStringLiteral("longer")); // this one waits
    QVERIFY(wait_until_idle());
    QCOMPARE(failure(), QString());
    engine_->open_session(QStringLiteral("brief"));
    engine_->open_session(QStringLiteral("longer"));
    QVERIFY(wait_until_idle());
    QCOMPARE(failure(), QString());
    QCOMPARE(facts()->name, QStringLiteral("longer"));
}

void EngineThreadTest::sessions_are_exported_imported_forked_and_removed()
{
    begin(QStringLiteral("Ashford"));
    const QString file = folder_.filePath(QStringLiteral("out.palimpsest"));
    engine_->export_session(QStringLiteral("Ashford"), file);
    engine_->fork_session(QStringLiteral("Ashford"), QStringLiteral("twin"));
    engine_->remove_session(QStringLiteral("Ashford"));
    QVERIFY(wait_until_idle());
    QCOMPARE(failure(), QString());
    QVERIFY(!facts());
    engine_->open_session(QStringLiteral("Ashford"));
    QVERIFY(wait_until_idle());
    QCOMPARE(failure(), QStringLiteral("PAL-SESSION-01"));
    failures_->clear();
    engine_->import_session(file);
    engine_->open_session(QStringLiteral("Ashford"));
    engine_->open_session(QStringLiteral("twin"));
    QVERIFY(wait_until_idle());
    QCOMPARE(failure(), QString());
    QCOMPARE(facts()->name, QStringLiteral("twin"));
}

void EngineThreadTest::pasted_text_is_a_document()
{
    engine_->begin_session({.name = QStringLiteral("pasted"), .budget = QStringLiteral("256")});
    engine_->read_text(QStringLiteral("from a/letter"),
                       QStringLiteral("The lighthouse keeper wrote. ").repeated(40));
    QVERIFY(wait_until_idle());
    QCOMPARE(failure(), QString());
    QCOMPARE(facts()->documents.size(), size_t{1});
    QVERIFY(QString::fromStdString(facts()->documents[0].info.title).contains(QStringLiteral("letter")));
}

void EngineThreadTest::what_was_removed_is_gone_though_the_program_ends()
{
    begin(QStringLiteral("one"));
    engine_->fork_session(QStringLiteral("one"), QStringLiteral("two"));
    engine_->begin_session({.name = QStringLiteral("long"), .budget = QStringLiteral("256"), .chunk = 64},
                           {book(8)});
    QVERIFY(QTest::qWaitFor([&] { return engine_->frame()->share.value_or(0) > 0.02; }, 60000));
    engine_->remove_session(QStringLiteral("one"));
    engine_->remove_session(QStringLiteral("long")); // which is being read
    engine_->remove_session(QStringLiteral("two"));
    const QString database = engine_->database();
    engine_.reset();

    storage::Store store(database.toStdString(), storage::Database::Access::Read, {});
    QVERIFY(store.conversations.list().empty());
}

void EngineThreadTest::a_question_without_a_session_begins_one()
{
    engine_->load_model({});
    engine_->ask(QStringLiteral("Who are you?"), {.name = QStringLiteral("talk"), .budget = QStringLiteral("256")});
    engine_->ask(QStringLiteral("And who am I?"), {.name = QStringLiteral("not this")});
    QVERIFY(wait_until_idle());
    QCOMPARE(failure(), QString());
    QCOMPARE(facts()->name, QStringLiteral("talk"));
    QCOMPARE(facts()->turns.size(), size_t{4});
}

void EngineThreadTest::what_is_not_saved_leaves_nothing()
{
    begin(QStringLiteral("saved"));
    engine_->begin_session({.name = QStringLiteral("secret"), .budget = QStringLiteral("256"), .saved = false},
                           {book()});
    engine_->ask(QStringLiteral("Who?"));
    QVERIFY(wait_until_idle());
    QCOMPARE(failure(), QString());
    QVERIFY(!facts()->saved);
    QCOMPARE(facts()->turns.size(), size_t{2});
    engine_->open_session(QStringLiteral("secret"));
    QVERIFY(wait_until_idle());
    QCOMPARE(failure(), QStringLiteral("PAL-SESSION-01"));
}

void EngineThreadTest::what_is_wrong_is_said_in_a_sentence()
{
    engine_->begin_session({.name = QStringLiteral("x")}, {QStringLiteral("/no/such/file.txt")});
    QVERIFY(wait_until_idle());
    QCOMPARE(failures_->count(), 1);
    const auto said = failures_->last()[1].value<Failure>();
    QVERIFY2(said.sentence.contains(QStringLiteral("/no/such/file.txt")), qPrintable(said.sentence));
    engine_->begin_session({.name = QStringLiteral("y"), .policy = QStringLiteral("treekw")});
    QVERIFY(wait_until_idle());
    QVERIFY(failures_->last()[1].value<Failure>().sentence.contains(QStringLiteral("treekv")));
    engine_->load_model({.model = QStringLiteral("/no/such/model.gguf")});
    QVERIFY(wait_until_idle());
    QVERIFY(failures_->last()[1].value<Failure>().with_model);
}

void EngineThreadTest::frames_are_told_once_until_they_are_taken()
{
    QSignalSpy told(engine_.get(), &EngineThread::frame_changed);
    engine_->begin_session({.name = QStringLiteral("x"), .budget = QStringLiteral("256"), .chunk = 64}, {book(2)});
    QVERIFY(wait_until_idle());
    QCOMPARE(told.count(), 1); // nobody took one
    const uint64_t number = engine_->frame()->number;
    QVERIFY(number > 3);
    engine_->ask(QStringLiteral("Who?"));
    QVERIFY(wait_until_idle());
    QCOMPARE(told.count(), 2);
    QVERIFY(engine_->frame()->number > number);
    QCOMPARE(engine_->frame()->activity, Activity::Idle);
}

void EngineThreadTest::what_is_kept_is_shown_as_it_is()
{
    begin(QStringLiteral("Ashford"));
    const auto frame = engine_->frame();
    QVERIFY(frame->kept);
    QCOMPARE(frame->kept->tokens_seen, frame->telemetry.tokens_seen);
    QCOMPARE(frame->kept->layers, facts()->layers);
    uint64_t slots_used = 0;
    for (const auto& list : frame->kept->tokens)
        slots_used += list.size();
    QCOMPARE(slots_used, static_cast<uint64_t>(frame->telemetry.slots_used));
}

} // namespace palimpsest::ui

QTEST_GUILESS_MAIN(palimpsest::ui::EngineThreadTest)
#include "engine_thread_test.moc"
