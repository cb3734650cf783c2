// While a session has a problem, such as turns that cannot be saved, the window names it and says how to solve it.
#include <QAbstractButton>
#include <QMessageBox>
#include <QToolButton>

#include "tests/support/fault_vfs.h"
#include "tests/ui/desktop/program.h"
#include "tests/ui/support/patience.h"
#include "ui/engine/tools.h"

namespace palimpsest::tests {

using namespace palimpsest::ui;

class TroubleTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void init();
    void cleanup();
    void retry_saves_unsaved_turns_once_the_disk_has_room();
    void unsaved_turns_are_saved_with_the_next_answer();
    void closing_asks_about_unsaved_turns();
    void a_session_without_its_model_is_shown_as_text();

private:
    MessageBar* bar() const { return program_->window().findChild<MessageBar*>(); }
    QToolButton* button(const QString& text) const; // of the bar, if it is shown
    QToolButton* retry() const { return button(QStringLiteral("Retry")); }
    void fill_disk_and_ask();

    std::unique_ptr<QTemporaryDir> folder_;
    std::unique_ptr<FaultVfs> disk_;
    std::unique_ptr<Program> program_;
};

void TroubleTest::init()
{
    folder_ = std::make_unique<QTemporaryDir>();
    disk_ = std::make_unique<FaultVfs>();
    const QString sample = part_of_sample(*folder_, 4000);
    program_ = std::make_unique<Program>(folder_->path(), sample);
    program_->store().set_tour_taken();
    Preferences preferences = program_->window().preferences();
    preferences.budget = QStringLiteral("256");
    preferences.chunk = 128;
    preferences.max_tokens = 12;
    program_->window().change_preferences(preferences);
    program_->bench().begin({});
    program_->window().open_paths({sample});
    QVERIFY(program_->settle());
    QCOMPARE(program_->failures(), QStringList());
}

void TroubleTest::cleanup()
{
    program_.reset();
    disk_.reset();
}

QToolButton* TroubleTest::button(const QString& text) const
{
    for (QToolButton* button : bar()->findChildren<QToolButton*>())
        if (button->text() == text && button->isVisible()) return button;
    return nullptr;
}

void TroubleTest::fill_disk_and_ask()
{
    disk_->arm(Fault::Full, 1, true);
    program_->window().show_tab(Tab::Chat);
    program_->say(QStringLiteral("Who kept the light?"));
    QVERIFY(program_->settle());
    QCOMPARE(program_->areas().chat()->view()->turns().count(), 2);
    QVERIFY2(bar()->sentence().contains(QStringLiteral("PAL-DISK-01")), qPrintable(bar()->sentence()));
    QVERIFY(retry());
}

void TroubleTest::retry_saves_unsaved_turns_once_the_disk_has_room()
{
    fill_disk_and_ask();
    QTest::mouseClick(retry(), Qt::LeftButton); // the disk is still full
    QVERIFY(program_->settle());
    QVERIFY(retry());
    disk_->heal();
    QTest::mouseClick(retry(), Qt::LeftButton);
    QVERIFY(program_->settle());
    QVERIFY(!program_->facts()->not_stored);
    QVERIFY(!bar()->sentence().isEmpty());
    QVERIFY(!bar()->sentence().contains(QStringLiteral("PAL-")));
    QVERIFY(!retry());
}

void TroubleTest::unsaved_turns_are_saved_with_the_next_answer()
{
    fill_disk_and_ask();
    disk_->heal();
    program_->say(QStringLiteral("And then?"));
    QVERIFY(program_->settle());
    QVERIFY(!program_->facts()->not_stored);
    QVERIFY(!bar()->sentence().contains(QStringLiteral("PAL-")));
    QVERIFY(!retry());
}

void TroubleTest::closing_asks_about_unsaved_turns()
{
    fill_disk_and_ask();
    MainWindow& window = program_->window();
    QVERIFY(!window.close());
    auto* question = window.findChild<QMessageBox*>();
    QVERIFY(question && question->text().contains(QStringLiteral("PAL-DISK-01")));
    question->button(QMessageBox::Cancel)->click();
    QVERIFY(window.isVisible());
    EVENTUALLY(!window.findChild<QMessageBox*>());
    QVERIFY(!window.close());
    question = window.findChild<QMessageBox*>();
    for (QAbstractButton* button : question->buttons())
        if (question->buttonRole(button) == QMessageBox::DestructiveRole) button->click();
    QVERIFY(!window.isVisible());
}

void TroubleTest::a_session_without_its_model_is_shown_as_text()
{
    const QString name = program_->facts()->name;
    EngineThread& engine = program_->engine();
    engine.fork_session(name, QStringLiteral("other"));
    engine.run({}, [](EngineThread::Tools& tools) {
        tools.store.database.sql().exec("UPDATE sessions SET model = 'gone', options = "
                                        "json_set(options, '$.model', '/no/such.gguf') WHERE name = 'other'");
    });
    engine.open_session(QStringLiteral("other"));
    QVERIFY(program_->settle());
    QCOMPARE(bar()->sentence(), program_->facts()->text_only);
    QVERIFY(!bar()->sentence().isEmpty());
    QVERIFY(!retry());
    program_->window().show_tab(Tab::Document);
    DocumentView* text = program_->areas().document()->view();
    QVERIFY(test::eventually([&] { return text->text_layout().is_complete(); }));
    QVERIFY2(text->text_layout().visible_text().contains(QStringLiteral("Ashford")),
             qPrintable(text->text_layout().visible_text().left(300)));
    QToolButton* read = button(QStringLiteral("Read with this model"));
    QVERIFY(read);
    QTest::mouseClick(read, Qt::LeftButton);
    QVERIFY(program_->settle());
    QCOMPARE(program_->failures(), QStringList());
    QVERIFY(program_->facts()->name != name && program_->facts()->name != QStringLiteral("other"));
    QCOMPARE(program_->facts()->text_only, QString());
    QCOMPARE(program_->facts()->tokens_read, program_->facts()->tokens_in_input);
    engine.open_session(name);
    QVERIFY(program_->settle());
    QVERIFY(bar()->sentence().isEmpty());
}

} // namespace palimpsest::tests

QTEST_MAIN(palimpsest::tests::TroubleTest)
#include "trouble_test.moc"
