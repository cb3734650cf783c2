// The outline in the whole window, with an engine and the shipped model: notes while a document is read, notes
// afterwards, stopping, and the way from a note to its place.
#include <QCheckBox>
#include <QFile>
#include <QLabel>
#include <QPushButton>

#include "tests/ui/desktop/program.h"
#include "tests/ui/support/patience.h"
#include "ui/chat/empty_chat.h"
#include "ui/chat/question_button.h"
#include "ui/outline/outline_page.h"
#include "ui/outline/outline_view.h"
#include "ui/outline/suggested_questions.h"
#include "ui/window/settings_dialog.h"
#include "ui/window/status_line.h"

namespace palimpsest::tests {

using namespace palimpsest::ui;

class OutlineAreaTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void init();
    void cleanup() { program_.reset(); }
    void notes_appear_while_a_document_is_read();
    void enter_goes_to_the_place_in_the_document();
    void missing_notes_are_written_later();
    void writing_notes_is_stopped_and_goes_on();
    void a_session_that_is_not_saved_has_notes_too();
    void a_suggested_question_is_put_into_the_field();
    void the_setting_is_off_at_first_and_is_stored();

private:
    void set_writes_notes(bool writes_notes);
    void read();
    OutlinePage& page() const { return *program_->areas().outline(); }
    int notes() const { return page().model().notes(0).written; }

    static constexpr int chapters = ui::test::is_sanitized ? 2 : 4;
    std::unique_ptr<QTemporaryDir> folder_;
    QString book_;
    std::unique_ptr<Program> program_;
};

// Writes a book of several chapters that are long enough for a note each.
void OutlineAreaTest::init()
{
    folder_ = std::make_unique<QTemporaryDir>();
    book_ = folder_->filePath(QStringLiteral("Book.md"));
    QFile file(book_);
    QVERIFY(file.open(QIODevice::WriteOnly));
    const char* const names[] = {"Ann", "Ben", "Cora", "Dan"};
    for (int chapter = 0; chapter < chapters; ++chapter) {
        file.write(QStringLiteral("# Chapter %1. The lamp of %2\n\n")
                       .arg(QString::number(chapter + 1), QLatin1String(names[chapter]))
                       .toUtf8());
        for (int line = 0; line < 24; ++line)
            file.write(QStringLiteral("%1 wrote down the wind and the weather, and went %2 to the lamp.\n\n")
                           .arg(QLatin1String(names[chapter]), line % 2 ? "up" : "down")
                           .toUtf8());
    }
    file.close();
    program_ = std::make_unique<Program>(folder_->path());
    program_->store().set_tour_taken();
    Preferences preferences = program_->window().preferences();
    preferences.budget = QStringLiteral("512");
    preferences.chunk = 128;
    preferences.max_tokens = 8;
    program_->window().change_preferences(preferences);
    program_->window().activateWindow();
    program_->bench().begin({});
    QVERIFY(program_->settle());
}

void OutlineAreaTest::set_writes_notes(bool writes_notes)
{
    Preferences preferences = program_->window().preferences();
    preferences.writes_notes = writes_notes;
    program_->window().change_preferences(preferences);
}

void OutlineAreaTest::read()
{
    program_->window().open_paths({book_});
    QVERIFY(program_->settle());
    QCOMPARE(program_->failures(), QStringList());
    QCOMPARE(program_->facts()->tokens_read, program_->facts()->tokens_in_input);
}

void OutlineAreaTest::notes_appear_while_a_document_is_read()
{
    set_writes_notes(true);
    std::vector<int> shown; // notes in the outline after each that was written
    bool has_ended = false;
    connect(&program_->engine(), &EngineThread::reading_finished, &page(), [&] { has_ended = true; });
    connect(&program_->engine(), &EngineThread::note_written, &page(), [&] {
        if (!has_ended) shown.push_back(notes());
    });
    program_->window().open_paths({book_});
    QVERIFY(program_->settle());
    QCOMPARE(program_->failures(), QStringList());
    QCOMPARE(page().model().rowCount(), chapters);
    QCOMPARE(notes(), chapters);
    QCOMPARE(std::ssize(shown), std::ptrdiff_t{chapters});
    for (int i = 0; i < chapters; ++i)
        QCOMPARE(shown[static_cast<size_t>(i)], i + 1);
    QCOMPARE(program_->facts()->notes.size(), static_cast<size_t>(chapters));
    QVERIFY(!page().write_button()->isEnabled());
    for (int row = 0; row < chapters; ++row) {
        const QModelIndex index = page().model().index(row);
        QVERIFY2(index.data().toString().startsWith(QStringLiteral("Chapter %1. The lamp").arg(row + 1)),
                 qPrintable(index.data().toString()));
        QVERIFY2(index.data(OutlineModel::StateRole).toString().contains(QStringLiteral("held")),
                 qPrintable(index.data(OutlineModel::StateRole).toString()));
        const bool is_quoted = index.data(OutlineModel::StateRole).toString().startsWith(QStringLiteral("quoted"));
        QCOMPARE(index.data(OutlineModel::NoteRole).toString().startsWith(u'“'), is_quoted);
    }
}

void OutlineAreaTest::enter_goes_to_the_place_in_the_document()
{
    read();
    program_->trigger(ActionId::ShowOutline);
    OutlineView& view = *page().view();
    EVENTUALLY(view.hasFocus());
    QTest::keyClick(&view, Qt::Key_End);
    QCOMPARE(view.currentIndex().row(), chapters - 1);
    QTest::keyClick(&view, Qt::Key_Return);
    DocumentView* text = program_->areas().document()->view();
    QVERIFY(text->isVisible());
    QVERIFY(text->is_flashing());
    QVERIFY(test::eventually([&] { return text->text_layout().is_complete(); }));
    const uint64_t token = page().model().row(chapters - 1).range.first;
    QVERIFY(text->text_layout().visible_range().first <= token && token < text->text_layout().visible_range().last);
    QVERIFY(text->text_layout().visible_text().contains(QStringLiteral("Chapter %1").arg(chapters)));
}

void OutlineAreaTest::missing_notes_are_written_later()
{
    read();
    QCOMPARE(page().model().rowCount(), chapters); // useful without notes
    QCOMPARE(notes(), 0);
    program_->window().show_tab(Tab::Outline);
    QVERIFY(page().write_button()->isVisible() && page().write_button()->isEnabled());
    QStringList said;
    const auto observing = connect( // on the engine thread, so that no frame is missed
        &program_->engine(), &EngineThread::frame_changed, &page(),
        [&] {
            if (const auto frame = program_->engine().frame(); frame && frame->activity == Activity::WritingNotes)
                said << activity_text(*frame);
        },
        Qt::DirectConnection);
    page().write_button()->click();
    QVERIFY(program_->settle());
    disconnect(observing);
    QCOMPARE(program_->failures(), QStringList());
    QCOMPARE(notes(), chapters);
    QVERIFY2(said.join(u'\n').contains(QStringLiteral("Writing notes")) &&
                 said.join(u'\n').contains(QStringLiteral("of %1").arg(chapters)),
             qPrintable(said.join(u'\n')));
    QVERIFY(!page().write_button()->isEnabled());
    const auto before = program_->facts()->notes;
    program_->engine().close_session();
    program_->engine().open_session(QStringLiteral("Book"));
    QVERIFY(program_->settle());
    QVERIFY(program_->facts()->notes == before);
    QCOMPARE(notes(), chapters);
}

void OutlineAreaTest::writing_notes_is_stopped_and_goes_on()
{
    read();
    connect(
        &program_->engine(), &EngineThread::note_written, &page(), [&] { program_->engine().stop(); },
        Qt::SingleShotConnection);
    page().write_button()->click();
    QVERIFY(program_->settle());
    QCOMPARE(program_->failures(), QStringList());
    const int kept = notes();
    QVERIFY(kept >= 1 && kept <= chapters); // the stop can come after the last note
    QCOMPARE(program_->facts()->notes.size(), static_cast<size_t>(kept));
    QCOMPARE(page().write_button()->isEnabled(), kept < chapters);
    page().write_button()->click();
    QVERIFY(program_->settle());
    QCOMPARE(notes(), chapters);
    // Reading goes on without notes, as the setting says.
    program_->engine().read_text(QStringLiteral("More"), QStringLiteral("The lamp was lit again. ").repeated(40));
    QVERIFY(program_->settle());
    QCOMPARE(program_->failures(), QStringList());
    QCOMPARE(notes(), chapters);
    QVERIFY(page().model().rowCount() > chapters);
}

void OutlineAreaTest::a_session_that_is_not_saved_has_notes_too()
{
    set_writes_notes(true);
    program_->trigger(ActionId::NewIncognito);
    program_->engine().read_files({book_});
    QVERIFY(program_->settle());
    QCOMPARE(program_->failures(), QStringList());
    QVERIFY(!program_->facts()->saved);
    QCOMPARE(notes(), chapters);
}

void OutlineAreaTest::a_suggested_question_is_put_into_the_field()
{
    set_writes_notes(true);
    read();
    const auto offered = [&] {
        QStringList questions;
        for (const auto* button : program_->areas().chat()->start()->findChildren<QuestionButton*>())
            questions << button->question();
        return questions;
    };
    const QStringList suggested = suggested_questions(outline_rows(*program_->facts()));
    QVERIFY(!suggested.isEmpty() && suggested.size() <= 3);
    QCOMPARE(offered(), suggested);
    program_->areas().chat()->start()->findChild<QuestionButton*>()->click();
    QCOMPARE(program_->areas().chat()->composer()->field()->toPlainText(), suggested[0]);
    QVERIFY(program_->engine().is_idle()); // it was not sent
    QCOMPARE(program_->facts()->turns.size(), size_t{0});
    Preferences preferences = program_->window().preferences();
    preferences.suggests_questions = false;
    program_->window().change_preferences(preferences);
    QVERIFY(offered() != suggested);
}

void OutlineAreaTest::the_setting_is_off_at_first_and_is_stored()
{
    QVERIFY(!program_->store().load().writes_notes);
    SettingsDialog dialog(program_->window().preferences(), {}, &program_->window());
    QCheckBox* box = nullptr;
    for (auto* check : dialog.findChildren<QCheckBox*>())
        if (check->text().contains(QStringLiteral("rite notes"))) box = check;
    QVERIFY(box && !box->isChecked());
    QVERIFY2(box->toolTip().contains(QStringLiteral("twice as long")), qPrintable(box->toolTip()));
    box->click();
    program_->window().change_preferences(dialog.preferences());
    QVERIFY(program_->store().load().writes_notes);
}

} // namespace palimpsest::tests

QTEST_MAIN(palimpsest::tests::OutlineAreaTest)
#include "outline_area_test.moc"
