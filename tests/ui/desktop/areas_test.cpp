// The areas of the window work together, with an engine and a model: search hits, sources, reading position,
// instructions.
#include <QLabel>
#include <QLineEdit>
#include <QListView>
#include <QPlainTextEdit>
#include <QPushButton>

#include "tests/ui/desktop/program.h"
#include "tests/ui/support/patience.h"
#include "ui/base/chart.h"
#include "ui/chat/instructions.h"
#include "ui/engine/tools.h"
#include "ui/memory/memory_view.h"

namespace palimpsest::tests {

using namespace palimpsest::ui;

class AreasTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void init();
    void cleanup();
    void a_document_hit_opens_its_session_at_the_hit();
    void a_message_hit_opens_the_chat_at_that_message();
    void documents_are_indexed_on_request();
    void a_hit_that_cannot_be_opened_has_no_later_effect();
    void the_document_keeps_its_place_after_an_answer_data();
    void the_document_keeps_its_place_after_an_answer();
    void document_and_map_mark_the_same_sources();
    void document_and_map_mark_what_an_answer_was_written_from();
    void the_sentence_under_an_answer_leads_to_its_place();
    void a_stored_session_has_memory_curves_when_opened();
    void a_copy_avoids_the_name_of_a_session_whose_removal_can_be_undone();
    void instructions_can_be_changed_until_the_session_begins();
    void drafted_instructions_apply_to_the_next_session_only();

private:
    QString write(const QString& name, const QString& thing) const;
    void read(const QString& file);
    void open(const QString& session);
    void activate_hit(const QString& words);
    DocumentView& text() const { return *program_->areas().document()->view(); }
    ChatView& chat() const { return *program_->areas().chat()->view(); }

    std::unique_ptr<QTemporaryDir> folder_;
    QString alpha_, beta_;
    std::unique_ptr<Program> program_;
};

void AreasTest::init()
{
    folder_ = std::make_unique<QTemporaryDir>();
    alpha_ = write(QStringLiteral("Alpha.txt"), QStringLiteral("lantern"));
    beta_ = write(QStringLiteral("Beta.txt"), QStringLiteral("anchor"));
    program_ = std::make_unique<Program>(folder_->path());
    program_->store().set_tour_taken();
    Preferences preferences = program_->window().preferences();
    preferences.budget = QStringLiteral("512");
    preferences.chunk = 256;
    preferences.max_tokens = 8;
    program_->window().change_preferences(preferences);
    program_->bench().begin({});
    QVERIFY(program_->settle());
}

void AreasTest::cleanup()
{
    program_.reset();
}

// Writes a text that has `thing` in three places far from one another.
QString AreasTest::write(const QString& name, const QString& thing) const
{
    QFile file(folder_->filePath(name));
    if (!file.open(QIODevice::WriteOnly)) return {};
    const char* const numbers[] = {"first", "second", "third"};
    for (const char* number : numbers) {
        for (int line = 0; line < 60; ++line)
            file.write("The keeper wrote down the wind — and the weather.\n");
        file.write(
            QStringLiteral("There stood the %1 %2 of the house.\n").arg(QLatin1String(number), thing).toUtf8());
    }
    return file.fileName();
}

void AreasTest::read(const QString& file)
{
    program_->window().open_paths({file});
    QVERIFY(program_->settle());
    QCOMPARE(program_->failures(), QStringList());
}

void AreasTest::open(const QString& session)
{
    program_->engine().open_session(session);
    QVERIFY(program_->settle());
    QVERIFY(program_->facts() && program_->facts()->name == session);
}

// Searches for `words` in the library and activates the first hit.
void AreasTest::activate_hit(const QString& words)
{
    LibraryView& library = program_->window().library();
    auto* hits = library.findChild<QListView*>();
    const auto find = [&] {
        return hits->model()->match(hits->model()->index(0, 0), Qt::DisplayRole, words, 1, Qt::MatchContains);
    };
    library.findChild<QLineEdit*>()->setText(words);
    EVENTUALLY(!find().isEmpty());
    Q_EMIT hits->activated(find().first());
    QVERIFY(program_->settle());
    QCOMPARE(program_->failures(), QStringList());
}

void AreasTest::a_document_hit_opens_its_session_at_the_hit()
{
    read(alpha_);
    read(beta_);
    const auto shows = [&](const QString& words) {
        return test::eventually([&] {
            const QRect at = text().text_layout().rect_of(text().caret());
            return text().isVisible() && text().text_layout().is_complete() &&
                   text().viewport()->rect().contains(at) &&
                   text().text_layout().paragraph(text().caret()).contains(words);
        });
    };
    activate_hit(QStringLiteral("third anchor")); // in the open session
    QVERIFY2(shows(QStringLiteral("third anchor")), qPrintable(text().text_layout().paragraph(text().caret())));
    QCOMPARE(program_->facts()->name, QStringLiteral("Beta"));
    program_->window().show_tab(Tab::Chat);
    activate_hit(QStringLiteral("second lantern")); // in another session
    QVERIFY2(shows(QStringLiteral("second lantern")), qPrintable(text().text_layout().paragraph(text().caret())));
    QCOMPARE(program_->facts()->name, QStringLiteral("Alpha"));
    QCOMPARE(text().selection().first, text().selection().last);
}

void AreasTest::a_message_hit_opens_the_chat_at_that_message()
{
    read(alpha_);
    program_->engine().ask(QStringLiteral("Where was the sextant?"));
    QVERIFY(program_->settle());
    const QString before = program_->facts()->turns[1].text;
    Preferences preferences = program_->window().preferences();
    preferences.sampling.seed = 7;
    preferences.sampling.temperature = 2;
    program_->window().change_preferences(preferences);
    program_->engine().regenerate();
    program_->engine().ask(QStringLiteral("And the barometer?"));
    QVERIFY(program_->settle());
    const auto facts = program_->facts();
    QCOMPARE(facts->turns.size(), size_t{4});
    read(beta_);
    program_->window().show_tab(Tab::Document);

    activate_hit(QStringLiteral("Where was the sextant"));
    QCOMPARE(program_->facts()->name, QStringLiteral("Alpha"));
    QVERIFY(chat().isVisible());
    QCOMPARE(chat().current_turn(), 0);
    QVERIFY(chat().viewport()->rect().intersects(chat().turn_rect(0)));
    const SearchHit earlier{.session = QStringLiteral("Alpha"),
                            .session_id = facts->id,
                            .title = {},
                            .message = facts->turns[1].message - 1,
                            .parent = facts->turns[0].message,
                            .newer = 1,
                            .snippet = {}};
    Q_EMIT program_->window().hit_wanted(earlier, {});
    QCOMPARE(chat().current_turn(), 1);
    QCOMPARE(chat().turns().text(1).trimmed(), before.trimmed());
    SearchHit newest = earlier;
    newest.message = facts->turns[1].message;
    newest.newer = 0;
    Q_EMIT program_->window().hit_wanted(newest, {});
    QCOMPARE(chat().turns().text(1).trimmed(), facts->turns[1].text.trimmed());
}

void AreasTest::documents_are_indexed_on_request()
{
    read(alpha_);
    program_->engine().run({}, [](EngineThread::Tools& tools) { // as after a backup was restored
        tools.store.database.sql().exec("DELETE FROM indexed_documents");
    });
    QVERIFY(program_->settle());
    LibraryView& library = program_->window().library();
    library.findChild<QLineEdit*>()->setText(QStringLiteral("third lantern"));
    const auto index = [&]() -> QPushButton* {
        for (auto* button : library.findChildren<QPushButton*>())
            if (button->isVisible() && button->text() == QStringLiteral("Index them")) return button;
        return nullptr;
    };
    EVENTUALLY(index());
    QCOMPARE(library.findChild<QListView*>()->model()->rowCount(), 0);
    index()->click();
    EVENTUALLY(library.findChild<QListView*>()->model()->rowCount() > 0);
    QVERIFY(!index());
    QCOMPARE(program_->failures(), QStringList());
}

void AreasTest::a_hit_that_cannot_be_opened_has_no_later_effect()
{
    read(alpha_);
    const int64_t document = program_->facts()->documents[0].info.id;
    read(beta_);
    program_->window().show_tab(Tab::Chat);
    Q_EMIT program_->window().hit_wanted(
        {.session = QStringLiteral("nowhere"), .session_id = 99, .title = {}, .document = document, .snippet = {}},
        {});
    QVERIFY(program_->settle());
    QCOMPARE(program_->failures().size(), 1);
    open(QStringLiteral("Alpha"));
    QVERIFY(!text().isVisible());
}

void AreasTest::the_document_keeps_its_place_after_an_answer_data()
{
    QTest::addColumn<bool>("saved");
    QTest::newRow("saved") << true;
    QTest::newRow("not saved") << false;
}

void AreasTest::the_document_keeps_its_place_after_an_answer()
{
    QFETCH(bool, saved);
    program_->trigger(saved ? ActionId::NewSession : ActionId::NewIncognito);
    program_->engine().read_files({alpha_});
    QVERIFY(program_->settle());
    QCOMPARE(program_->facts()->saved, saved);
    program_->window().show_tab(Tab::Document);
    QVERIFY(test::eventually([&] { return text().source() && text().text_layout().is_complete(); }));
    const uint64_t tokens = text().source()->tokens();
    text().jump_to(tokens / 2);
    text().set_caret(tokens / 2 + 5);
    QVERIFY(test::eventually([&] { return text().text_layout().is_complete(); }));
    const uint64_t top = text().text_layout().place().token;
    QVERIFY(top > 0);
    program_->engine().ask(QStringLiteral("Who wrote it down?"));
    QVERIFY(program_->settle());
    QVERIFY(test::eventually([&] { return text().source()->tokens() > tokens; }));
    QVERIFY(test::eventually([&] { return text().text_layout().is_complete(); }));
    QCOMPARE(text().text_layout().place().token, top);
    QCOMPARE(text().caret(), tokens / 2 + 5);
}

void AreasTest::document_and_map_mark_what_an_answer_was_written_from()
{
    read(alpha_);
    program_->engine().ask(QStringLiteral("Who wrote it down?"));
    QVERIFY(program_->settle());
    const Provenance& provenance = *program_->facts()->turns[1].provenance;
    QVERIFY(provenance.is_from_sources_alone);
    QVERIFY(!provenance.sources.empty());
    chat().perform(1, TurnAction::ShowSources);
    QCOMPARE(program_->areas().map()->scene().marks.highlights.size(), provenance.sources.size());
    for (const Provenance::Source& source : provenance.sources)
        QVERIFY(text().describe(source.range.first).contains(QStringLiteral("the answer was written from it")));
    const auto labels = program_->areas().document()->findChildren<QLabel*>();
    QVERIFY(std::ranges::any_of(labels, [](const QLabel* label) {
        return label->isVisible() && label->text().contains(QStringLiteral("from nothing else"));
    }));
}

void AreasTest::document_and_map_mark_the_same_sources()
{
    program_->engine().set_answers_from_sentences(false);
    read(alpha_);
    program_->engine().ask(QStringLiteral("Who wrote it down?"));
    QVERIFY(program_->settle());
    const auto sources = program_->facts()->turns[1].provenance->sources;
    QVERIFY(!sources.empty());
    const auto on_the_map = [&] { return program_->areas().map()->scene().marks.highlights.size(); };
    const auto in_the_document = [&] {
        return text().describe(sources[0].range.first).contains(QStringLiteral("attention"));
    };
    const auto says_what_was_held = [&] {
        const auto labels = program_->areas().document()->findChildren<QLabel*>();
        return std::ranges::any_of(labels, [](const QLabel* label) {
            return label->isVisible() && label->text().contains(QStringLiteral("still in the cache"));
        });
    };
    QVERIFY2(!chat().turns().notes(1).contains(QStringLiteral("in the cache")),
             qPrintable(chat().turns().notes(1)));
    QVERIFY(!says_what_was_held());
    chat().perform(1, TurnAction::ShowSources);
    QVERIFY(says_what_was_held());
    QCOMPARE(on_the_map(), sources.size());
    QVERIFY(in_the_document());
    // Makes the engine publish the session facts again.
    program_->engine().pin(sources[0].range, QStringLiteral("a passage"));
    QVERIFY(program_->settle());
    QCOMPARE(program_->facts()->pins.size(), size_t{1});
    QCOMPARE(on_the_map(), sources.size());
    QVERIFY(in_the_document());
    program_->engine().ask(QStringLiteral("And then?"));
    QVERIFY(program_->settle());
    QCOMPARE(on_the_map(), size_t{0});
    QVERIFY(!in_the_document());
    QVERIFY(!says_what_was_held());
}

void AreasTest::the_sentence_under_an_answer_leads_to_its_place()
{
    read(alpha_);
    program_->engine().ask(QStringLiteral("What did the keeper write down of wind and weather?"));
    QVERIFY(program_->settle());
    const Turn& answer = program_->facts()->turns[1];
    QVERIFY(answer.provenance && answer.provenance->quote);
    const QuotedSentence& quote = *answer.provenance->quote;
    QVERIFY2(chat().turns().notes(1).contains(QString::fromStdString(quote.text).simplified()),
             qPrintable(chat().turns().notes(1)));
    const auto is_marked = [&] {
        return text().describe(quote.range.first).contains(QStringLiteral("supports the answer best"));
    };
    QVERIFY(!is_marked());
    chat().perform(1, TurnAction::ShowQuote);
    QVERIFY(is_marked());
    QVERIFY(text().isVisible());
    QCOMPARE(program_->areas().map()->scene().marks.highlights.size(), size_t{1});
}

void AreasTest::a_stored_session_has_memory_curves_when_opened()
{
    const auto lines = [&] { return program_->window().findChild<MemoryView*>()->findChild<Chart*>()->lines(); };
    read(alpha_);
    const std::vector<ChartLine> read_now = lines();
    QCOMPARE(read_now.size(), size_t{2});
    read(beta_);
    open(QStringLiteral("Alpha"));
    const std::vector<ChartLine> opened = lines();
    QCOMPARE(opened.size(), size_t{2});
    for (size_t i = 0; i < 2; ++i) {
        QVERIFY2(opened[i].points.size() > 32, qPrintable(QString::number(opened[i].points.size())));
        QCOMPARE(opened[i].points.front().x(), 0.0);
        QCOMPARE(opened[i].points.back(), read_now[i].points.back());
    }
    const engine::Telemetry& now = program_->bench().frame()->telemetry;
    for (const QPointF& point : opened[0].points)
        QCOMPARE(point.y(), static_cast<double>(now.cache_bytes));
    for (const QPointF& point : opened[1].points)
        QCOMPARE(point.y() * static_cast<double>(now.tokens_seen),
                 static_cast<double>(now.full_cache_bytes) * point.x());
}

void AreasTest::a_copy_avoids_the_name_of_a_session_whose_removal_can_be_undone()
{
    read(alpha_);
    program_->engine().fork_session(QStringLiteral("Alpha"), QStringLiteral("Alpha (copy)"));
    QVERIFY(program_->settle());
    LibraryView& library = program_->window().library();
    EVENTUALLY(library.model().index_of(QStringLiteral("Alpha (copy)")).isValid());
    library.remove(QStringLiteral("Alpha (copy)"));
    library.choose(QStringLiteral("Alpha"));
    QSignalSpy wanted(&program_->window(), &MainWindow::duplicate_wanted);
    program_->trigger(ActionId::Duplicate);
    QCOMPARE(wanted.count(), 1);
    QCOMPARE(wanted[0][1].toString(), QStringLiteral("Alpha (copy 2)"));
    QVERIFY(program_->settle());
    QCOMPARE(program_->failures(), QStringList());
}

void AreasTest::instructions_can_be_changed_until_the_session_begins()
{
    Preferences preferences = program_->window().preferences();
    preferences.system = QStringLiteral("Be kind.");
    program_->window().change_preferences(preferences);
    program_->trigger(ActionId::NewSession);
    QVERIFY(program_->settle());
    QCOMPARE(program_->facts()->system, QStringLiteral("Be kind."));
    QVERIFY(!program_->facts()->has_begun);
    const QString name = program_->facts()->name;

    Instructions* instructions = program_->areas().chat()->instructions();
    instructions->set_unfolded(true);
    instructions->field()->setFocus();
    instructions->field()->selectAll();
    QTest::keyClicks(instructions->field(), QStringLiteral("Answer in verse."));
    program_->say(QStringLiteral("Who kept the light?")); // moves the focus out of the field
    QVERIFY(program_->settle());
    QCOMPARE(program_->failures(), QStringList());
    QCOMPARE(program_->facts()->name, name);
    QCOMPARE(program_->facts()->system, QStringLiteral("Answer in verse."));
    QVERIFY(program_->facts()->has_begun);
    QVERIFY(instructions->field()->isReadOnly());

    program_->engine().set_system(QStringLiteral("Too late."));
    QVERIFY(program_->settle());
    QCOMPARE(program_->failures().size(), 1);
    QVERIFY(program_->failures()[0].contains(QStringLiteral("begin another session")));
    program_->engine().close_session();
    open(name);
    QCOMPARE(program_->facts()->system, QStringLiteral("Answer in verse."));
    QVERIFY(program_->facts()->has_begun);
    QCOMPARE(instructions->text(), QStringLiteral("Answer in verse."));
}

void AreasTest::drafted_instructions_apply_to_the_next_session_only()
{
    Instructions* instructions = program_->areas().chat()->instructions();
    instructions->set_unfolded(true);
    QTest::keyClicks(instructions->field(), QStringLiteral("Be brief."));
    read(alpha_);
    QCOMPARE(program_->facts()->system, QStringLiteral("Be brief."));
    read(beta_); // the first session took the drafted instructions, so this one has none
    QCOMPARE(program_->facts()->system, QString());
}

} // namespace palimpsest::tests

QTEST_MAIN(palimpsest::tests::AreasTest)
#include "areas_test.moc"
