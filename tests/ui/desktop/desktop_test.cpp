// The real window with the real engine and the shipped model, driven by user input.
#include <QDropEvent>
#include <QLabel>
#include <QLocale>
#include <QMimeData>
#include <QTreeView>
#include <QUrl>

#include "tests/ui/desktop/program.h"
#include "tests/ui/support/patience.h"

namespace palimpsest::tests {

using namespace palimpsest::ui;

class DesktopTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void init();
    void cleanup();
    void a_question_about_the_sample_is_answered();
    void a_folder_is_added_to_the_library_and_its_document_read_from_there();
    void a_question_waits_while_the_document_is_read();
    void an_answer_is_stopped_regenerated_undone_and_branched();
    void a_restart_opens_the_last_session_as_it_was();
    void the_policy_changes_here_or_in_a_new_session();
    void a_selected_passage_is_pinned_with_its_price();
    void without_a_budget_a_pin_is_priced_by_the_full_cache();
    void the_map_is_exported();
    void sources_are_shown_in_the_document_and_the_map();
    void pasted_text_becomes_a_document();
    void an_unsaved_session_shows_its_text_and_is_not_in_the_library();
    void a_failure_is_shown_in_the_window();

private:
    QString file(const QString& name) const { return folder_->filePath(name); }
    void read_sample();

    std::unique_ptr<QTemporaryDir> folder_;
    QString sample_;
    std::unique_ptr<Program> program_;
};

void DesktopTest::init()
{
    folder_ = std::make_unique<QTemporaryDir>();
    sample_ = part_of_sample(*folder_, sized(16000));
    QVERIFY(!sample_.isEmpty());
    program_ = std::make_unique<Program>(folder_->path(), sample_);
    program_->store().set_tour_taken();
    Preferences preferences = program_->window().preferences();
    preferences.budget = QString::number(sized(512));
    preferences.chunk = sized(256);
    preferences.max_tokens = sized(24);
    program_->window().change_preferences(preferences);
    program_->bench().begin({});
}

void DesktopTest::cleanup()
{
    program_.reset();
}

void DesktopTest::read_sample()
{
    program_->window().open_paths({sample_});
    QVERIFY(program_->settle());
    QCOMPARE(program_->failures(), QStringList());
    QVERIFY(program_->facts());
    QCOMPARE(program_->facts()->tokens_read, program_->facts()->tokens_in_input);
}

void DesktopTest::a_question_about_the_sample_is_answered()
{
    read_sample();
    QVERIFY(program_->window().windowTitle().contains(QStringLiteral("Ashford Light")));
    QVERIFY(program_->areas().map()->scene().map);
    QCOMPARE(program_->areas().map()->scene().map->tokens_seen, program_->bench().frame()->telemetry.tokens_seen);

    program_->window().show_tab(Tab::Document);
    DocumentView* text = program_->areas().document()->view();
    QVERIFY(test::eventually([&] { return text->text_layout().is_complete(); }));
    QVERIFY2(text->text_layout().visible_text().contains(QStringLiteral("The Chronicle of Ashford Light")),
             qPrintable(text->text_layout().visible_text().left(300)));

    program_->window().show_tab(Tab::Chat);
    program_->say(QStringLiteral("Who was the first keeper?"));
    QVERIFY(program_->settle());
    QCOMPARE(program_->failures(), QStringList());
    const ChatView* chat = program_->areas().chat()->view();
    QCOMPARE(chat->turns().count(), 2);
    QCOMPARE(chat->turns().text(0), QStringLiteral("Who was the first keeper?"));
    QCOMPARE(chat->turns().text(1).trimmed(), program_->facts()->turns[1].text.trimmed());
    QVERIFY2(chat->turns().notes(1).contains(QLocale().toString(qulonglong{program_->facts()->tokens_read})),
             qPrintable(chat->turns().notes(1)));
}

void DesktopTest::a_folder_is_added_to_the_library_and_its_document_read_from_there()
{
    QTemporaryDir books;
    QVERIFY(QFile::copy(sample_, books.filePath(QStringLiteral("ashford.md"))));
    QMimeData dropped;
    dropped.setUrls({QUrl::fromLocalFile(books.path())});
    QDragEnterEvent enter({10, 10}, Qt::CopyAction, &dropped, Qt::LeftButton, Qt::NoModifier);
    QCoreApplication::sendEvent(&program_->window().library(), &enter);
    QVERIFY(enter.isAccepted());
    QDropEvent drop({10, 10}, Qt::CopyAction, &dropped, Qt::LeftButton, Qt::NoModifier);
    QCoreApplication::sendEvent(&program_->window().library(), &drop);
    QVERIFY(program_->settle());
    QCOMPARE(program_->failures(), QStringList());
    LibraryModel& model = program_->window().library().model();
    QVERIFY(test::eventually([&] { return model.rowCount() == 1; }));
    QVERIFY(!program_->facts());
    QVERIFY(books.remove());

    auto* tree = program_->window().library().findChild<QTreeView*>();
    Q_EMIT tree->activated(tree->model()->index(0, 0));
    QVERIFY(test::eventually([&] { return program_->facts() != nullptr; }));
    QVERIFY(program_->settle());
    QCOMPARE(program_->failures(), QStringList());
    QCOMPARE(program_->facts()->tokens_read, program_->facts()->tokens_in_input);
    QVERIFY(test::eventually([&] { return model.rowCount(model.index(0, 0)) == 1; }));
}

void DesktopTest::a_question_waits_while_the_document_is_read()
{
    program_->window().open_paths({sample_});
    QVERIFY(test::eventually([&] { return program_->bench().frame()->activity == Activity::Reading; }));
    QSignalSpy queued(&program_->engine(), &EngineThread::question_queued);
    program_->say(QStringLiteral("Does it wait?"));
    QVERIFY(test::eventually([&] { return queued.count() == 1; }));
    const quint64 id = queued[0][0].toULongLong();
    QCOMPARE(program_->areas().chat()->composer()->waiting(id), QStringLiteral("Does it wait?"));
    QVERIFY(program_->settle());
    QCOMPARE(program_->areas().chat()->composer()->waiting(id), QString());
    QCOMPARE(program_->areas().chat()->view()->turns().count(), 2);
}

void DesktopTest::an_answer_is_stopped_regenerated_undone_and_branched()
{
    read_sample();
    Preferences preferences = program_->window().preferences();
    preferences.max_tokens = 100000;
    preferences.sampling.temperature = 4; // random text that hardly ever ends
    program_->window().change_preferences(preferences);
    program_->say(QStringLiteral("Tell everything."));
    ChatView* chat = program_->areas().chat()->view();
    QVERIFY(test::eventually([&] { return chat->turns().is_answering() && chat->turns().count() == 2; }));
    QVERIFY(test::eventually([&] { return !program_->bench().frame()->answer.isEmpty(); }));
    QTest::keyClick(program_->areas().chat()->composer()->field(), Qt::Key_Escape);
    QVERIFY(program_->settle());
    QCOMPARE(program_->facts()->turns[1].state, storage::MessageState::Stopped);
    const QString first = program_->facts()->turns[1].text;

    preferences.max_tokens = sized(16);
    preferences.sampling.temperature = 0.8F;
    preferences.sampling.seed = 11;
    program_->window().change_preferences(preferences);
    program_->trigger(ActionId::Regenerate);
    QVERIFY(program_->settle());
    QCOMPARE(program_->failures(), QStringList());
    QCOMPARE(chat->turns().count(), 2);
    QCOMPARE(program_->facts()->turns[1].earlier, std::vector<QString>{first});

    const QString second = QStringLiteral("And what else?");
    QString shown, answered;
    const auto look = connect(&program_->engine(), &EngineThread::question_begun, chat, [&] {
        shown = chat->turns().text(2);
        answered = chat->turns().text(1);
    });
    program_->say(second);
    QVERIFY(program_->settle());
    disconnect(look);
    QCOMPARE(shown, second); // the question was shown while it was answered
    QCOMPARE(answered.trimmed(), program_->facts()->turns[1].text.trimmed());
    program_->trigger(ActionId::Undo);
    QVERIFY(program_->settle());
    QCOMPARE(chat->turns().count(), 2);

    const QString name = program_->facts()->name;
    chat->set_current_turn(0);
    chat->perform(0, TurnAction::Branch);
    QWidget* field = program_->areas().chat()->composer()->field();
    QTest::keyClick(field, Qt::Key_A, Qt::ControlModifier);
    program_->say(QStringLiteral("Tell something else."));
    QVERIFY(program_->settle());
    QCOMPARE(program_->failures(), QStringList());
    QVERIFY(program_->facts()->name != name);
    QCOMPARE(program_->facts()->turns.size(), size_t{2});
    QCOMPARE(program_->facts()->turns[0].text, QStringLiteral("Tell something else."));
}

void DesktopTest::a_restart_opens_the_last_session_as_it_was()
{
    read_sample();
    program_->say(QStringLiteral("Who kept the light?"));
    QVERIFY(program_->settle());
    const auto kept = program_->bench().frame()->kept;
    const QString answer = program_->facts()->turns[1].text;
    program_->window().close();
    program_.reset();

    program_ = std::make_unique<Program>(folder_->path(), sample_);
    program_->bench().begin({});
    QVERIFY(test::eventually([&] { return program_->facts() != nullptr; }));
    QVERIFY(program_->settle());
    QCOMPARE(program_->failures(), QStringList());
    QCOMPARE(program_->facts()->turns[1].text, answer);
    QCOMPARE(program_->bench().frame()->kept->tokens, kept->tokens);
    QCOMPARE(program_->areas().chat()->view()->turns().count(), 2);
}

void DesktopTest::the_policy_changes_here_or_in_a_new_session()
{
    read_sample();
    PolicyPanel* panel = program_->areas().policy();
    NewSession request = panel->request();
    request.policy = QStringLiteral("streaming");
    request.budget = QStringLiteral("128");
    Q_EMIT panel->apply_wanted(request, false);
    program_->say(QStringLiteral("Here?"));
    QVERIFY(program_->settle());
    QCOMPARE(program_->failures(), QStringList());
    QVERIFY(program_->facts()->policy.startsWith(QStringLiteral("streaming")));
    for (const auto& list : program_->bench().frame()->kept->tokens)
        QVERIFY(list.size() <= 128);
    const QString name = program_->facts()->name;
    request.policy = QStringLiteral("lacache");
    Q_EMIT panel->apply_wanted(request, true);
    QVERIFY(program_->settle());
    QCOMPARE(program_->failures(), QStringList());
    QVERIFY(program_->facts()->name != name);
    QVERIFY(program_->facts()->turns.empty());
    QCOMPARE(program_->facts()->tokens_read, program_->facts()->tokens_in_input);
}

void DesktopTest::a_selected_passage_is_pinned_with_its_price()
{
    read_sample();
    program_->window().show_tab(Tab::Document);
    DocumentPage* page = program_->areas().document();
    QVERIFY(test::eventually([&] { return page->view()->text_layout().is_complete(); }));
    const uint64_t end = program_->facts()->documents[0].range.last;
    page->view()->select({end - 60, end - 40});
    QVERIFY2(page->price_text().startsWith(QStringLiteral("20 ")) && page->price_text().contains(u'%'),
             qPrintable(page->price_text()));
    QVERIFY(page->pin_action()->isEnabled());
    page->pin_action()->trigger();
    QVERIFY(program_->settle());
    QCOMPARE(program_->failures(), QStringList());
    QCOMPARE(program_->facts()->pins.size(), size_t{1});
    QCOMPARE(program_->facts()->pins[0].first, end - 60);
    QCOMPARE(program_->areas().map()->scene().marks.pins.size(), size_t{1});
}

void DesktopTest::without_a_budget_a_pin_is_priced_by_the_full_cache()
{
    sample_ = part_of_sample(*folder_, 3000);
    Preferences preferences = program_->window().preferences();
    preferences.policy = QStringLiteral("full");
    preferences.budget = QStringLiteral("none");
    program_->window().change_preferences(preferences);
    read_sample();
    program_->window().show_tab(Tab::Document);
    DocumentPage* page = program_->areas().document();
    QVERIFY(test::eventually([&] { return page->view()->text_layout().is_complete(); }));
    page->view()->select({100, 200});
    const double share = 100.0 * 100 / program_->engine().model()->config().context;
    QVERIFY2(page->price_text().contains(QStringLiteral("%1 %").arg(QLocale().toString(share, 'f', 1))),
             qPrintable(page->price_text()));
}

void DesktopTest::the_map_is_exported()
{
    read_sample();
    for (const char* ending : {"png", "svg", "csv", "json"}) {
        const QString to = file(QStringLiteral("map.") + QLatin1String(ending));
        QSignalSpy ended(program_->areas().map(), &RetentionView::export_ended);
        program_->areas().map()->save_as(to);
        EVENTUALLY_EQUAL(ended.count(), 1);
        QCOMPARE(ended.at(0).at(1).toString(), QString());
        QFile written(to);
        QVERIFY(written.open(QIODevice::ReadOnly));
        QVERIFY(written.size() > 100);
    }
    QFile csv(file(QStringLiteral("map.csv")));
    QVERIFY(csv.open(QIODevice::ReadOnly));
    const auto slots_used = program_->bench().frame()->telemetry.slots_used;
    QCOMPARE(csv.readAll().count('\n') - 1, static_cast<qsizetype>(slots_used));
}

void DesktopTest::sources_are_shown_in_the_document_and_the_map()
{
    read_sample();
    program_->say(QStringLiteral("Who was it?"));
    QVERIFY(program_->settle());
    const Turn& answer = program_->facts()->turns[1];
    QVERIFY(answer.provenance && !answer.provenance->sources.empty());
    ChatView* chat = program_->areas().chat()->view();
    chat->perform(1, TurnAction::ShowSources);
    DocumentView* text = program_->areas().document()->view();
    QVERIFY(text->isVisible());
    const StreamRange first = answer.provenance->sources[0].range;
    QVERIFY(test::eventually([&] {
        return text->text_layout().is_complete() && text->text_layout().visible_range().first <= first.first &&
               first.first < text->text_layout().visible_range().last;
    }));
    QCOMPARE(program_->areas().map()->scene().marks.highlights.size(), answer.provenance->sources.size());
    program_->window().show_tab(Tab::Chat);
    chat->open_source(1, 0);
    QVERIFY(text->isVisible());
}

void DesktopTest::pasted_text_becomes_a_document()
{
    Q_EMIT program_->areas().chat()->composer()->text_pasted(
        QStringLiteral("A letter\n") + QStringLiteral("The keeper lit the lamp at dusk. ").repeated(sized(900)));
    QVERIFY(program_->settle());
    QCOMPARE(program_->failures(), QStringList());
    QCOMPARE(program_->facts()->documents.size(), size_t{1});
    QCOMPARE(QString::fromStdString(program_->facts()->documents[0].info.title), QStringLiteral("A letter"));
}

void DesktopTest::an_unsaved_session_shows_its_text_and_is_not_in_the_library()
{
    program_->trigger(ActionId::NewIncognito);
    QVERIFY(program_->settle());
    program_->engine().read_files({sample_});
    QVERIFY(program_->settle());
    QCOMPARE(program_->failures(), QStringList());
    QVERIFY(!program_->facts()->saved);
    program_->window().show_tab(Tab::Document);
    DocumentView* text = program_->areas().document()->view();
    QVERIFY(test::eventually([&] {
        return text->text_layout().visible_text().contains(QStringLiteral("The Chronicle of Ashford Light"));
    }));
    QVERIFY(test::eventually([&] { return program_->window().library().model().all_sessions().isEmpty(); }));
}

void DesktopTest::a_failure_is_shown_in_the_window()
{
    program_->engine().begin_session(program_->window().preferences().new_session(),
                                     {file(QStringLiteral("not there.txt"))});
    QVERIFY(program_->settle());
    QCOMPARE(program_->failures().size(), 1);
    QVERIFY(program_->failures()[0].contains(QStringLiteral("not there.txt")));
    bool is_shown = false;
    for (const QLabel* label : program_->window().findChildren<QLabel*>())
        is_shown = is_shown || (label->isVisible() && label->text().contains(QStringLiteral("not there.txt")));
    QVERIFY(is_shown);
}

} // namespace palimpsest::tests

QTEST_MAIN(palimpsest::tests::DesktopTest)
#include "desktop_test.moc"
