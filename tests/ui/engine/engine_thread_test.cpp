// The engine thread with the shipped model: sessions, reading, storing and failures.
#include <QFile>
#include <QTemporaryDir>
#include <QTest>
#include <SQLiteCpp/Database.h>
#include <cstdlib>
#include <sstream>

#include "kernels/base/error.h"
#include "storage/session/document.h"
#include "storage/session/listener.h"
#include "storage/session/store.h"
#include "storage/session/stored_session.h"
#include "tests/support/fault_vfs.h"
#include "tests/support/project_folders.h"
#include "tests/ui/engine/engine_fixture.h"
#include "tests/ui/support/patience.h"
#include "tests/ui/support/sanitized.h"
#include "ui/engine/tools.h"

namespace palimpsest::ui {

class EngineThreadTest : public EngineFixture {
    Q_OBJECT
private Q_SLOTS:
    void init() { start(); }
    void cleanup() { end(); }
    void a_session_is_the_same_after_a_restart();
    void a_stopped_reading_can_be_continued();
    void the_policy_changes_here_or_in_a_new_session();
    void passages_are_pinned_and_unpinned();
    void another_session_can_be_renamed_during_a_reading();
    void sessions_are_exported_imported_forked_and_removed();
    void documents_of_a_folder_are_stored_read_and_deleted();
    void pasted_text_becomes_a_document();
    void sessions_are_removed_even_if_the_engine_ends_at_once();
    void an_unsaved_session_cannot_be_opened_again();
    void a_failure_is_reported_as_a_sentence();
    void a_frame_is_signalled_once_until_it_is_taken();
    void the_published_map_is_that_of_the_telemetry();
    void an_answer_that_cannot_be_stored_stays_in_memory_until_it_can();
    void a_session_continues_on_another_device_when_its_own_is_lost();
    void a_device_lost_outside_the_session_is_not_used_again();
    void the_open_session_stays_open_if_a_document_cannot_be_imported();
    void a_stopped_import_stores_nothing();
    void the_open_session_stays_open_if_another_cannot_be_opened();
    void a_session_keeps_its_product_type();
    void a_session_without_its_model_is_shown_as_text();
    void pasted_text_of_an_unsaved_session_is_not_written_to_disk();
    void long_names_are_shortened();
    void a_session_can_be_renamed_and_removed_while_it_is_being_opened();
};

void EngineThreadTest::a_session_is_the_same_after_a_restart()
{
    begin(QStringLiteral("Ashford"));
    engine_->ask(QStringLiteral("Who kept the light?"));
    QVERIFY(wait_until_idle());
    const auto before = facts();
    const auto frame = engine_->frame();
    start(QString(engine_->database()));
    engine_->open_session(QStringLiteral("Ashford"));
    QVERIFY(wait_until_idle());
    const auto after = facts();
    QVERIFY(after);
    QCOMPARE(after->turns.size(), before->turns.size());
    QCOMPARE(after->turns[1].text, before->turns[1].text);
    QCOMPARE(engine_->frame()->telemetry.tokens_seen, frame->telemetry.tokens_seen);
    QCOMPARE(engine_->frame()->kept->tokens, frame->kept->tokens);
}

void EngineThreadTest::a_stopped_reading_can_be_continued()
{
    engine_->begin_session({.name = QStringLiteral("long"), .budget = QStringLiteral("256"), .chunk = 64},
                           {book(8)});
    QVERIFY(wait_for_share(Activity::Reading, 0.05));
    engine_->stop();
    QVERIFY(wait_until_idle());
    QVERIFY(facts()->tokens_read < facts()->tokens_in_input);
    QCOMPARE(told_->readings, (std::vector{std::pair(QStringLiteral("book8.md"), false)}));
    engine_->ask(QStringLiteral("Too early?"));
    QVERIFY(wait_until_idle());
    QCOMPARE(failure(), QStringLiteral("PAL-SESSION-03"));
    engine_->read_on();
    QVERIFY(test::eventually([&] { return engine_->frame()->activity == Activity::Reading; }));
    engine_->stop();
    QVERIFY(wait_until_idle());
    QVERIFY(facts()->tokens_read < facts()->tokens_in_input);

    start(QString(engine_->database()));
    engine_->open_session(QStringLiteral("long"));
    QVERIFY(wait_until_idle());
    QCOMPARE(facts()->tokens_read, facts()->tokens_in_input);
    QCOMPARE(told_->readings, (std::vector{std::pair(QStringLiteral("long"), true)}));
}

void EngineThreadTest::the_policy_changes_here_or_in_a_new_session()
{
    begin(QStringLiteral("Ashford"));
    const NewSession request{.policy = QStringLiteral("streaming"), .budget = QStringLiteral("64"), .chunk = 64};
    engine_->change_policy(request, false);
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

    // Both sessions are stored with their policies.
    start(QString(engine_->database()));
    engine_->open_session(QStringLiteral("Ashford"));
    QVERIFY(wait_until_idle());
    QVERIFY(facts()->policy.startsWith(QStringLiteral("streaming")));
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

void EngineThreadTest::another_session_can_be_renamed_during_a_reading()
{
    begin(QStringLiteral("short"));
    told_->readings.clear();
    engine_->begin_session({.name = QStringLiteral("long"), .budget = QStringLiteral("256"), .chunk = 64},
                           {book(12)});
    QVERIFY(wait_for_share(Activity::Reading, 0.02));
    told_->library_changes = 0;
    engine_->rename_session(QStringLiteral("short"), QStringLiteral("brief"));
    QVERIFY(test::eventually([&] { return told_->library_changes > 0; }));
    QVERIFY(told_->readings.empty()); // the rename did not wait for the reading
    // Renames of the session that is being read wait, and report under their own command ids.
    const CommandId refused = engine_->rename_session(QStringLiteral("long"), QStringLiteral("brief"));
    engine_->rename_session(QStringLiteral("long"), QStringLiteral("longer"));
    QVERIFY(wait_until_idle());
    QCOMPARE(told_->readings.size(), size_t{1});
    QCOMPARE(told_->failures.size(), size_t{1});
    QCOMPARE(told_->failures[0].first, quint64{refused});
    QCOMPARE(failure(), QStringLiteral("PAL-SESSION-02"));
    QCOMPARE(std::count_if(told_->finished.begin(), told_->finished.end(),
                           [&](const auto& one) { return one.first == refused; }),
             1);
    told_->failures.clear();
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
    const QString page = folder_.filePath(QStringLiteral("out.html"));
    engine_->export_session(QStringLiteral("Ashford"), page);
    QVERIFY(wait_until_idle());
    QFile transcript(page);
    QVERIFY(transcript.open(QIODevice::ReadOnly) && transcript.readAll().contains("<h1 dir=\"auto\">Ashford</h1>"));
    change_database(
        "INSERT INTO notes(session, document, first_token, end_token, first_byte, end_byte, section, origin, "
        "repeats, text, refused, tokens, seconds, hash) SELECT sessions.id, documents.id, 0, 1, 0, 1, -1, "
        "0, 0, 'x', '', 1, 0, 1 FROM sessions, documents");
    engine_->export_session(QStringLiteral("Ashford"), folder_.filePath(QStringLiteral("second.palimpsest")));
    change_database("DELETE FROM notes WHERE hash = 1");
    QVERIFY(told_->notes.last().contains(QStringLiteral("damaged notes that were left out of the file: 1")));
    engine_->export_session(QStringLiteral("Ashford"), page); // it is there already
    QVERIFY(wait_until_idle());
    QCOMPARE(failure(), QStringLiteral("PAL-DISK-03"));
    told_->failures.clear();
    engine_->fork_session(QStringLiteral("Ashford"), QStringLiteral("twin"));
    engine_->remove_session(QStringLiteral("Ashford"));
    QVERIFY(wait_until_idle());
    QCOMPARE(failure(), QString());
    QVERIFY(!facts());
    engine_->open_session(QStringLiteral("Ashford"));
    QVERIFY(wait_until_idle());
    QCOMPARE(failure(), QStringLiteral("PAL-SESSION-01"));
    told_->failures.clear();
    engine_->import_session(file);
    engine_->open_session(QStringLiteral("Ashford"));
    engine_->open_session(QStringLiteral("twin"));
    QVERIFY(wait_until_idle());
    QCOMPARE(failure(), QString());
    QCOMPARE(facts()->name, QStringLiteral("twin"));
    engine_->open_export(file); // which was imported before
    QVERIFY(wait_until_idle());
    QCOMPARE(failure(), QString());
    QCOMPARE(facts()->name, QStringLiteral("Ashford"));
    QCOMPARE(facts()->text_only, QString());
    engine_->close_session();
    SQLite::Database(file.toStdString(), SQLite::OPEN_READWRITE).exec("UPDATE sessions SET options = 'no json'");
    engine_->open_export(file); // as text: its settings cannot be read
    QVERIFY(wait_until_idle());
    QCOMPARE(failure(), QString());
    QVERIFY2(facts()->text_only.contains(QStringLiteral("only its text is here, for its settings cannot be read")),
             qPrintable(facts()->text_only));
    QVERIFY(!facts()->documents.empty());
    engine_->load_model({.device = QStringLiteral("cpu")}); // the session stays open
    QVERIFY(wait_until_idle());
    QCOMPARE(failure(), QString());
    QVERIFY(!facts()->text_only.isEmpty());
    engine_->close_session();
    engine_->open_export(book()); // not an export: nothing changes
    QVERIFY(wait_until_idle());
    QCOMPARE(failure(), QStringLiteral("PAL-DB-02"));
    QVERIFY(!facts());
}

void EngineThreadTest::documents_of_a_folder_are_stored_read_and_deleted()
{
    QTemporaryDir books;
    QVERIFY(QFile::copy(book(), books.filePath(QStringLiteral("one.md"))));
    QVERIFY(QFile::copy(book(2), books.filePath(QStringLiteral("two.md"))));
    QFile broken(books.filePath(QStringLiteral("three.pdf")));
    QVERIFY(broken.open(QIODevice::WriteOnly) && broken.write("%PDF-1.4 cut") > 0);
    broken.close();
    QStringList told;
    connect(engine_.get(), &EngineThread::noted, this, [&](const QString& sentence) { told << sentence; });
    engine_->add_to_library({books.path()});
    QVERIFY(wait_until_idle());
    QCOMPARE(failure(), QString());
    QVERIFY2(told.last().startsWith(QStringLiteral("2 document(s) were added")), qPrintable(told.last()));
    QVERIFY2(told.last().contains(QStringLiteral("1 could not be read")) && told.last().contains("three.pdf"),
             qPrintable(told.last()));
    engine_->add_to_library({books.path()});
    QVERIFY(wait_until_idle());
    QVERIFY2(told.last().contains(QStringLiteral("2 were there before")), qPrintable(told.last()));

    const auto documents = [this] {
        storage::Database db(engine_->database().toStdString(), storage::Database::Access::Read);
        return storage::Library(db).list();
    };
    QCOMPARE(documents().size(), size_t{2});
    const int64_t first = documents()[0].id;
    engine_->begin_session_about({first}, {.budget = QStringLiteral("64"), .chunk = 64});
    QVERIFY(wait_until_idle());
    QCOMPARE(failure(), QString());
    QVERIFY(facts());
    QCOMPARE(facts()->documents.at(0).info.id, first);
    QCOMPARE(facts()->tokens_read, facts()->tokens_in_input);

    engine_->stop_keeping({documents()[0].id, documents()[1].id});
    QVERIFY(wait_until_idle());
    QCOMPARE(documents().size(), size_t{1}); // the session has it
    QCOMPARE(documents()[0].kept_ms, int64_t{0});
    engine_->keep({first});
    engine_->remove_session(facts()->name);
    QVERIFY(wait_until_idle());
    QCOMPARE(documents().size(), size_t{1});

    engine_->add_to_library({books.filePath(QStringLiteral("none"))});
    QVERIFY(wait_until_idle());
    QVERIFY2(told.last().contains(QStringLiteral("1 could not be read")), qPrintable(told.last()));
}

void EngineThreadTest::pasted_text_becomes_a_document()
{
    engine_->begin_session({.name = QStringLiteral("pasted"), .budget = QStringLiteral("256")});
    engine_->read_text(QStringLiteral("from a/letter"),
                       QStringLiteral("The lighthouse keeper wrote. ").repeated(40));
    QVERIFY(wait_until_idle());
    QCOMPARE(failure(), QString());
    QCOMPARE(facts()->documents.size(), size_t{1});
    QVERIFY(QString::fromStdString(facts()->documents[0].info.title).contains(QStringLiteral("letter")));
}

void EngineThreadTest::sessions_are_removed_even_if_the_engine_ends_at_once()
{
    begin(QStringLiteral("one"));
    engine_->fork_session(QStringLiteral("one"), QStringLiteral("two"));
    engine_->begin_session({.name = QStringLiteral("long"), .budget = QStringLiteral("256"), .chunk = 64},
                           {book(8)});
    QVERIFY(wait_for_share(Activity::Reading, 0.02));
    engine_->remove_session(QStringLiteral("one"));
    engine_->remove_session(QStringLiteral("long")); // it is being read
    engine_->remove_session(QStringLiteral("two"));
    const QString database = engine_->database();
    engine_.reset();

    storage::Store store(database.toStdString(), storage::Database::Access::Read, {});
    QVERIFY(store.conversations.list().empty());
}

void EngineThreadTest::an_unsaved_session_cannot_be_opened_again()
{
    begin(QStringLiteral("saved"));
    engine_->begin_session({.name = QStringLiteral("secret"), .budget = QStringLiteral("256"), .saved = false},
                           {book()});
    engine_->ask(QStringLiteral("Who?"));
    QVERIFY(wait_until_idle());
    QCOMPARE(failure(), QString());
    QVERIFY(!facts()->saved);
    QCOMPARE(facts()->turns.size(), size_t{2});
    const int64_t secret = facts()->id;
    engine_->begin_session({.name = QStringLiteral("other"), .budget = QStringLiteral("256"), .saved = false});
    QVERIFY(wait_until_idle());
    QVERIFY(facts()->id < 0 && secret < 0 && facts()->id != secret);
    engine_->open_session(QStringLiteral("secret"));
    QVERIFY(wait_until_idle());
    QCOMPARE(failure(), QStringLiteral("PAL-SESSION-01"));
}

void EngineThreadTest::a_failure_is_reported_as_a_sentence()
{
    engine_->begin_session({.name = QStringLiteral("x")}, {QStringLiteral("/no/such/file.txt")});
    QVERIFY(wait_until_idle());
    QCOMPARE(told_->failures.size(), size_t{1});
    const QString said = told_->failures[0].second.sentence;
    QVERIFY2(said.contains(QStringLiteral("/no/such/file.txt")), qPrintable(said));
    engine_->begin_session({.name = QStringLiteral("y"), .policy = QStringLiteral("treekw")});
    QVERIFY(wait_until_idle());
    QVERIFY(told_->failures.back().second.sentence.contains(QStringLiteral("treekv")));
    engine_->load_model({.model = QStringLiteral("/no/such/model.gguf")});
    QVERIFY(wait_until_idle());
    QVERIFY(told_->failures.back().second.with_model);
}

void EngineThreadTest::a_frame_is_signalled_once_until_it_is_taken()
{
    engine_->begin_session({.name = QStringLiteral("x"), .budget = QStringLiteral("256"), .chunk = 64}, {book(2)});
    QVERIFY(wait_until_idle());
    QCOMPARE(told_->frames, 1); // one signal only, because no frame was taken meanwhile
    const uint64_t number = engine_->frame()->number;
    QVERIFY(number > 3);
    engine_->ask(QStringLiteral("Who?"));
    QVERIFY(wait_until_idle());
    QCOMPARE(told_->frames, 2);
    QVERIFY(engine_->frame()->number > number);
    QCOMPARE(engine_->frame()->activity, Activity::Idle);
}

void EngineThreadTest::the_published_map_is_that_of_the_telemetry()
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

void EngineThreadTest::an_answer_that_cannot_be_stored_stays_in_memory_until_it_can()
{
    engine_.reset();
    tests::FaultVfs disk;
    start(folder_.filePath(QStringLiteral("full.db")));
    begin(QStringLiteral("Ashford"));
    engine_->ask(QStringLiteral("First?"));
    QVERIFY(wait_until_idle());
    QVERIFY(!facts()->not_stored);

    disk.arm(tests::Fault::Full, 1, true);
    engine_->ask(QStringLiteral("Second?"));
    QVERIFY(wait_until_idle());
    QCOMPARE(facts()->turns.size(), size_t{4});
    QCOMPARE(facts()->turns[2].text, QStringLiteral("Second?"));
    const QString answer = facts()->turns[3].text;
    QVERIFY(!answer.isEmpty());
    QCOMPARE(told_->answers.back().text, answer);
    QVERIFY(facts()->not_stored && facts()->not_stored->may_try_again);
    QVERIFY2(facts()->not_stored->sentence.contains(QStringLiteral("PAL-DISK-01")),
             qPrintable(facts()->not_stored->sentence));

    engine_->store_turns();
    engine_->open_session(QStringLiteral("Ashford")); // refused, because the unsaved turns would be lost
    QVERIFY(wait_until_idle());
    QVERIFY(facts()->not_stored);
    QCOMPARE(facts()->turns.size(), size_t{4});

    disk.heal();
    engine_->store_turns();
    QVERIFY(wait_until_idle());
    QVERIFY(!facts()->not_stored);
    QVERIFY(facts()->turns[3].message != 0);
    start(QString(engine_->database()));
    engine_->open_session(QStringLiteral("Ashford"));
    QVERIFY(wait_until_idle());
    QCOMPARE(facts()->turns.size(), size_t{4});
    QCOMPARE(facts()->turns[3].text, answer);
    engine_.reset(); // must end before `disk`
}

void EngineThreadTest::a_session_continues_on_another_device_when_its_own_is_lost()
{
    const QString model = QString::fromStdString(tests::source_file("tests/fixtures/models/llama.f32.gguf"));
    setenv("PALIMPSEST_PLUGINS", tests::build_file("tests/support/plugins/failing").c_str(), 1);
    const QString database = engine_->database();
    // The device fails after a number of operations: doubles that number until it fails during the reading.
    for (int operations = 200; told_->lost.isEmpty() && operations < 1000000; operations *= 2) {
        setenv("PALIMPSEST_TEST_FAIL_AFTER", std::to_string(operations).c_str(), 1);
        start(database + QString::number(operations));
        engine_->load_model({.model = model, .device = QStringLiteral("cuda")});
        engine_->begin_session({.name = QStringLiteral("x"), .budget = QStringLiteral("64"), .chunk = 32},
                               {book(4)});
        QVERIFY(wait_until_idle());
    }
    unsetenv("PALIMPSEST_PLUGINS");
    unsetenv("PALIMPSEST_TEST_FAIL_AFTER");
    QCOMPARE(told_->lost, QStringList{QStringLiteral("cuda:0")});
    QCOMPARE(failure(), QString());
    QCOMPARE(facts()->tokens_read, facts()->tokens_in_input);
    const QString device = facts()->device;
    QVERIFY(device != QStringLiteral("cuda:0"));
    QCOMPARE(told_->models.size(), size_t{2});
    QCOMPARE(told_->models[1].second, device);
    QCOMPARE(QString::fromStdString(engine_->model()->backend().name()), device);
    engine_->run({}, [&](EngineThread::Tools& tools) {
        if (QString::fromStdString(tools.model->backend().name()) != device)
            throw Error(ErrorKind::Internal, ErrorCode::Internal, Text("compare"), Text("it got the lost device"),
                        Text());
    });
    engine_->begin_session({.name = QStringLiteral("y"), .budget = QStringLiteral("64"), .chunk = 32}, {book()});
    QVERIFY(wait_until_idle());
    QCOMPARE(failure(), QString());
    QCOMPARE(told_->lost.size(), 1);
}

void EngineThreadTest::a_device_lost_outside_the_session_is_not_used_again()
{
    const auto loses = [](EngineThread::Tools&) {
        throw Error(ErrorKind::Resources, ErrorCode::GpuLost, Text("graphics card"), Text("it stopped responding"),
                    Text("restart"));
    };
    engine_->run({}, loses);
    QVERIFY(wait_until_idle());
    QVERIFY(!engine_->model());
    QCOMPARE(told_->lost.size(), 1);
    QVERIFY(told_->models.back().second.isEmpty());
    told_->failures.clear();

    begin(QStringLiteral("Ashford"));
    const auto model = engine_->model();
    engine_->run({}, loses);
    QVERIFY(wait_until_idle());
    QCOMPARE(failure(), QStringLiteral("PAL-GPU-03"));
    QCOMPARE(told_->lost.size(), 2);
    QVERIFY(engine_->model() && engine_->model() != model);
    told_->failures.clear();
    engine_->ask(QStringLiteral("Who?"));
    QVERIFY(wait_until_idle());
    QCOMPARE(failure(), QString());
    QCOMPARE(facts()->turns.size(), size_t{2});
}

void EngineThreadTest::the_open_session_stays_open_if_a_document_cannot_be_imported()
{
    const QString empty = folder_.filePath(QStringLiteral("empty.txt"));
    QVERIFY(QFile(empty).open(QIODevice::WriteOnly));
    engine_->begin_session({.name = QStringLiteral("first")}, {empty});
    QVERIFY(wait_until_idle());
    QCOMPARE(failure(), QStringLiteral("PAL-DOC-03"));
    QVERIFY(!facts());
    QVERIFY(sessions_in_library().isEmpty());
    told_->failures.clear();

    begin(QStringLiteral("Ashford"));
    engine_->ask(QStringLiteral("Who?"));
    QVERIFY(wait_until_idle());
    const auto before = facts();
    for (const QString& file : {empty, QStringLiteral("/no/such/file.txt")}) {
        engine_->begin_session({.name = QStringLiteral("new")}, {file});
        QVERIFY(wait_until_idle());
        QCOMPARE(facts()->name, QStringLiteral("Ashford"));
        QCOMPARE(facts()->turns[1].text, before->turns[1].text);
        QVERIFY(facts()->turns[1].provenance);
        QCOMPARE(sessions_in_library(), QStringList{QStringLiteral("Ashford")});
    }
    engine_->read_files({empty}); // into an existing session
    QVERIFY(wait_until_idle());
    QCOMPARE(facts()->name, QStringLiteral("Ashford"));
    QCOMPARE(facts()->documents.size(), size_t{1});
    told_->failures.clear();

    // An unsaved session stays open, too.
    engine_->begin_session({.name = QStringLiteral("secret"), .budget = QStringLiteral("256"), .saved = false},
                           {book()});
    engine_->ask(QStringLiteral("Who?"));
    QVERIFY(wait_until_idle());
    QCOMPARE(failure(), QString());
    const QString answer = facts()->turns[1].text;
    engine_->begin_session({.name = QStringLiteral("new"), .policy = QStringLiteral("treekw")});
    engine_->ask(QStringLiteral("And then?"));
    QVERIFY(wait_until_idle());
    QCOMPARE(facts()->name, QStringLiteral("secret"));
    QVERIFY(!facts()->saved);
    QCOMPARE(facts()->turns.size(), size_t{4});
    QCOMPARE(facts()->turns[1].text, answer);
    QVERIFY(facts()->turns[1].provenance);
    engine_->close_session();
    QCOMPARE(sessions_in_library(), QStringList{QStringLiteral("Ashford")});
}

void EngineThreadTest::a_stopped_import_stores_nothing()
{
    begin(QStringLiteral("Ashford"));
    engine_->begin_session({.name = QStringLiteral("huge")}, {book(4000)});
    QVERIFY(test::eventually([&] { return facts() && facts()->name == QStringLiteral("huge"); }));
    engine_->stop();
    QVERIFY(wait_until_idle());
    QCOMPARE(failure(), QString());
    QCOMPARE(facts()->name, QStringLiteral("Ashford"));
    QVERIFY(!told_->notes.isEmpty());
    QVERIFY(told_->finished.back().second);
    QCOMPARE(told_->readings.size(), size_t{1}); // only the first document
    QCOMPARE(sessions_in_library(), QStringList{QStringLiteral("Ashford")});
    int64_t documents = 0;
    engine_->run({}, [&](EngineThread::Tools& tools) {
        documents = tools.store.database.sql().execAndGet("SELECT count(*) FROM documents").getInt64();
    });
    engine_->ask(QStringLiteral("Who?"));
    QVERIFY(wait_until_idle());
    QCOMPARE(documents, 1);
    QCOMPARE(failure(), QString());
}

void EngineThreadTest::the_open_session_stays_open_if_another_cannot_be_opened()
{
    begin(QStringLiteral("Ashford"));
    engine_->fork_session(QStringLiteral("Ashford"), QStringLiteral("damaged"));
    change_database(
        "UPDATE stream SET tokens = tokens + 1 WHERE document IS NULL AND message IS NULL AND session = "
        "(SELECT id FROM sessions WHERE name = 'damaged')");
    engine_->open_session(QStringLiteral("damaged"));
    QVERIFY(wait_until_idle());
    QCOMPARE(failure(), QStringLiteral("PAL-DB-03"));
    QCOMPARE(facts()->name, QStringLiteral("Ashford"));
    told_->failures.clear();
    engine_->ask(QStringLiteral("Who?"));
    QVERIFY(wait_until_idle());
    QCOMPARE(failure(), QString());
    QCOMPARE(facts()->name, QStringLiteral("Ashford"));
    QCOMPARE(facts()->documents.size(), size_t{1});
    QCOMPARE(facts()->turns.size(), size_t{2});
}

void EngineThreadTest::a_session_keeps_its_product_type()
{
    const auto load_on_cpu = [this] {
        engine_->load_model({.device = QStringLiteral("cpu")});
        QVERIFY(wait_until_idle());
    };
    const QString database = engine_->database();
    engine_.reset();
    {
        const auto store = storage::open_store(database.toStdString(), storage::Database::Access::Write);
        storage::StoredOptions options;
        options.choice.device = "cpu";
        options.choice.compute = "f32";
        options.choice.budget = "256";
        options.choice.chunk = 128;
        storage::Listener listener;
        storage::StoredSession exact(*store, "exact", options, listener);
        std::istringstream nothing;
        storage::Document document(book().toStdString(), nothing, {});
        exact.read(document);
        exact.save();
    }
    start(database);
    load_on_cpu();
    const auto usual = engine_->model();
    engine_->open_session(QStringLiteral("exact"));
    engine_->ask(QStringLiteral("Who?"));
    QVERIFY(wait_until_idle());
    QCOMPARE(failure(), QString());
    QCOMPARE(facts()->name, QStringLiteral("exact"));
    QVERIFY(facts()->text_only.isEmpty());
    QVERIFY(engine_->model()->backend().exact_products());
    load_on_cpu(); // the session stays open and keeps its product type
    QCOMPARE(failure(), QString());
    QCOMPARE(facts()->name, QStringLiteral("exact"));
    QVERIFY(engine_->model()->backend().exact_products());

    begin(QStringLiteral("Ashford"));
    QCOMPARE(engine_->model()->backend().exact_products(), usual->backend().exact_products());
    const auto model = engine_->model();
    begin(QStringLiteral("Ashford again"));
    QVERIFY(engine_->model() == model); // not loaded again
    engine_->open_session(QStringLiteral("exact"));
    engine_->begin_session({.name = QStringLiteral("new")}, {QStringLiteral("/no/such/file.txt")});
    QVERIFY(wait_until_idle());
    QCOMPARE(facts()->name, QStringLiteral("exact")); // the previous session is open again
    QVERIFY(engine_->model()->backend().exact_products());
}

void EngineThreadTest::a_session_without_its_model_is_shown_as_text()
{
    begin(QStringLiteral("Ashford"));
    engine_->ask(QStringLiteral("Who?"));
    QVERIFY(wait_until_idle());
    const auto before = facts();
    engine_->fork_session(QStringLiteral("Ashford"), QStringLiteral("other"));
    for (const std::string& model :
         {std::string("/no/such/model.gguf"), tests::source_file("tests/fixtures/models/llama.f32.gguf")}) {
        const std::string sql = std::string("UPDATE sessions SET model = 'gone', options = json_set(options, "
                                            "'$.model', '") +
                                model + "') WHERE name = 'other'";
        change_database(sql.c_str());
        engine_->open_session(QStringLiteral("other"));
        QVERIFY(wait_until_idle());
        QCOMPARE(failure(), QString());
        QCOMPARE(facts()->name, QStringLiteral("other"));
        QVERIFY(!facts()->text_only.isEmpty());
        QCOMPARE(facts()->documents[0].info.title, before->documents[0].info.title);
        QCOMPARE(facts()->tokens_read, before->tokens_read);
        QCOMPARE(facts()->turns.size(), size_t{2});
        QCOMPARE(facts()->turns[1].text, before->turns[1].text);
        QVERIFY(facts()->turns[1].provenance && facts()->turns[1].provenance == before->turns[1].provenance);
        QCOMPARE(facts()->options.budget, before->options.budget);
        QVERIFY(!engine_->frame()->kept);
        QCOMPARE(told_->models.size(), size_t{1}); // the loaded model stays
    }
    engine_->ask(QStringLiteral("And then?"));
    QVERIFY(wait_until_idle());
    QCOMPARE(told_->failures.size(), size_t{1});
    QCOMPARE(told_->failures[0].second.sentence, facts()->text_only);
    told_->failures.clear();
    engine_->rename_session(QStringLiteral("other"), QStringLiteral("another"));
    QVERIFY(wait_until_idle());
    QCOMPARE(facts()->name, QStringLiteral("another"));
    // The open session stays open if a new one cannot be created.
    engine_->begin_session({.name = QStringLiteral("new"), .policy = QStringLiteral("treekw")});
    QVERIFY(wait_until_idle());
    QCOMPARE(facts()->name, QStringLiteral("another"));
    QVERIFY(!facts()->text_only.isEmpty());
    told_->failures.clear();

    // Once its model is there again, the session can be continued.
    change_database("UPDATE sessions SET model = (SELECT model FROM sessions WHERE name = 'Ashford') "
                    "WHERE name = 'another'");
    engine_->open_session(QStringLiteral("another"));
    engine_->ask(QStringLiteral("And then?"));
    QVERIFY(wait_until_idle());
    QCOMPARE(failure(), QString());
    QVERIFY(facts()->text_only.isEmpty());
    QCOMPARE(facts()->turns.size(), size_t{4});
}

void EngineThreadTest::pasted_text_of_an_unsaved_session_is_not_written_to_disk()
{
    const QByteArray folder = qgetenv("TMPDIR");
    setenv("TMPDIR", "/no/such/folder", 1);
    engine_->read_text(QStringLiteral("README.md and a/b"), QStringLiteral("# The keeper wrote. ").repeated(40),
                       {.budget = QStringLiteral("256"), .saved = false});
    const bool idle = wait_until_idle();
    folder.isEmpty() ? unsetenv("TMPDIR") : setenv("TMPDIR", folder.constData(), 1);
    QVERIFY(idle);
    QCOMPARE(failure(), QString());
    QVERIFY(!facts()->saved);
    QCOMPARE(facts()->documents.size(), size_t{1});
    QCOMPARE(facts()->documents[0].info.title, std::string("README.md and a/b"));
    QCOMPARE(facts()->documents[0].info.source, std::string("-"));
    QVERIFY(facts()->documents[0].sections.empty()); // plain text, whatever its name
    engine_->read_text(QStringLiteral("nothing"), {});
    QVERIFY(wait_until_idle());
    QCOMPARE(failure(), QStringLiteral("PAL-DOC-03"));
    QCOMPARE(facts()->documents.size(), size_t{1});
}

void EngineThreadTest::long_names_are_shortened()
{
    const QString name = QStringLiteral("é").repeated(120); // 240 bytes in UTF-8
    for (int i = 0; i < 2; ++i)
        engine_->begin_session({.name = name, .budget = QStringLiteral("64")});
    const QStringList names = sessions_in_library();
    QCOMPARE(failure(), QString());
    QCOMPARE(names.size(), 2);
    QVERIFY(names.contains(name.left(100)));
    for (const QString& each : names) {
        QVERIFY(each.toUtf8().size() <= 200);
        QVERIFY(each == name.left(100) || each.endsWith(QStringLiteral(", chat 2")));
        QVERIFY(!each.contains(QChar::ReplacementCharacter));
    }
}

void EngineThreadTest::a_session_can_be_renamed_and_removed_while_it_is_being_opened()
{
    begin(QStringLiteral("long"), QStringLiteral("treekv"), 6);
    for (const bool removed : {false, true}) {
        // Without its snapshots, the session must read the document and this turn again when it is opened.
        engine_->ask(QStringLiteral("Who?"));
        engine_->close_session();
        change_database("DELETE FROM snapshots");
        engine_->open_session(removed ? QStringLiteral("longer") : QStringLiteral("long"));
        QVERIFY(wait_for_share(Activity::Opening, 0.05));
        if (removed)
            engine_->remove_session(QStringLiteral("longer"));
        else
            engine_->rename_session(QStringLiteral("long"), QStringLiteral("longer"));
        QVERIFY(wait_until_idle());
        QCOMPARE(failure(), QString());
        if (removed)
            QVERIFY(!facts());
        else
            QCOMPARE(facts()->name, QStringLiteral("longer"));
    }
    QVERIFY(sessions_in_library().isEmpty());
}

} // namespace palimpsest::ui

QTEST_GUILESS_MAIN(palimpsest::ui::EngineThreadTest)
#include "engine_thread_test.moc"
