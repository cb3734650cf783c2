// The tour while the program is used: it advances with the user, covers no area, and starts by itself only once.
#include <QDockWidget>
#include <QLineEdit>
#include <QListView>
#include <QTabWidget>

#include "tests/ui/desktop/program.h"
#include "ui/window/tour.h"

namespace palimpsest::tests {

using namespace palimpsest::ui;

class TourTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void init();
    void cleanup() { program_.reset(); }
    void completing_a_task_advances_the_tour();
    void a_stopped_answer_does_not_advance_the_tour();
    void advancing_keeps_the_focus_and_the_shown_tab();
    void the_tour_covers_no_area();
    void the_tour_covers_no_search_hit();
    void a_tour_that_was_left_does_not_start_again();
    void a_tour_interrupted_by_closing_the_window_starts_only_from_the_menu();

private:
    void start();
    void read_part();
    QRect on_screen(const QWidget& widget) const { return {widget.mapToGlobal(QPoint()), widget.size()}; }
    Tour& tour() const { return *program_->window().tour(); }

    std::unique_ptr<QTemporaryDir> folder_;
    QString part_;
    std::unique_ptr<Program> program_;
};

void TourTest::init()
{
    folder_ = std::make_unique<QTemporaryDir>();
    part_ = part_of_sample(*folder_, sized(9000));
    QVERIFY(!part_.isEmpty());
    start();
    QVERIFY(program_->window().tour());
}

void TourTest::start()
{
    program_.reset();
    program_ = std::make_unique<Program>(folder_->path(), part_);
    Preferences preferences = program_->window().preferences();
    preferences.budget = QStringLiteral("512");
    preferences.chunk = 256;
    preferences.max_tokens = 8;
    program_->window().change_preferences(preferences);
    program_->bench().begin({});
    QVERIFY(program_->settle());
}

void TourTest::read_part()
{
    program_->window().open_paths({part_});
    QVERIFY(program_->settle());
    QCOMPARE(program_->failures(), QStringList());
}

void TourTest::completing_a_task_advances_the_tour()
{
    QCOMPARE(tour().step(), 0);
    read_part();
    QCOMPARE(tour().step(), 1);
    program_->engine().ask(QStringLiteral("Who kept the light?"));
    QVERIFY(program_->settle());
    QCOMPARE(tour().step(), 2);
    tour().back();
    QCOMPARE(tour().step(), 1); // back() can return to a step whose task is done
}

// Stops the engine at every frame that it publishes while it answers.
void TourTest::a_stopped_answer_does_not_advance_the_tour()
{
    read_part();
    EngineThread& engine = program_->engine();
    const auto stopper = connect(
        &engine, &EngineThread::frame_changed, &engine, [&engine] { engine.stop(); }, Qt::DirectConnection);
    engine.ask(QStringLiteral("Who kept the light?"));
    QVERIFY(program_->settle());
    disconnect(stopper);
    QCOMPARE(program_->facts()->turns.back().state, storage::MessageState::Stopped);
    QCOMPARE(tour().step(), 1);
}

void TourTest::advancing_keeps_the_focus_and_the_shown_tab()
{
    read_part();
    program_->say(QStringLiteral("Who kept the light?"));
    QVERIFY(program_->settle());
    QCOMPARE(tour().step(), 2);
    QCOMPARE(QApplication::focusWidget(), program_->areas().chat()->composer()->field());
    QVERIFY(program_->areas().chat()->view()->isVisible()); // stays visible, although step 2 is about the document
}

void TourTest::the_tour_covers_no_area()
{
    QTabWidget* tabs = program_->window().findChild<QTabWidget*>();
    for (int step = 0; step < tour().steps(); ++step, tour().next()) {
        QVERIFY(program_->comes_to_rest());
        QVERIFY(tour().isVisible());
        QVERIFY(on_screen(program_->window()).contains(on_screen(tour())));
        QVERIFY2(!on_screen(tour()).intersects(on_screen(*tabs)), qPrintable(QString::number(step)));
        for (const auto* dock : program_->window().findChildren<QDockWidget*>())
            QVERIFY2(!on_screen(tour()).intersects(on_screen(*dock)), qPrintable(dock->objectName()));
    }
}

void TourTest::the_tour_covers_no_search_hit()
{
    read_part();
    LibraryView& library = program_->window().library();
    auto* hits = library.findChild<QListView*>();
    library.findChild<QLineEdit*>()->setText(QStringLiteral("lighthouse"));
    EVENTUALLY(hits->model()->rowCount() > 0);
    Q_EMIT hits->activated(hits->model()->index(0, 0));
    const DocumentView* text = program_->areas().document()->view();
    EVENTUALLY(text->isVisible() && text->text_layout().is_complete());
    QVERIFY(program_->comes_to_rest());
    QVERIFY(tour().isVisible());
    QVERIFY(!on_screen(tour()).intersects(on_screen(*text->viewport())));
    QVERIFY(!on_screen(tour()).intersects(on_screen(*hits)));
}

void TourTest::a_tour_that_was_left_does_not_start_again()
{
    tour().leave();
    start();
    QVERIFY(!program_->window().tour());
}

void TourTest::a_tour_interrupted_by_closing_the_window_starts_only_from_the_menu()
{
    QVERIFY(tour().isVisible());
    program_->window().close();
    start();
    QVERIFY(!program_->window().tour());
    program_->trigger(ActionId::TakeTour); // it is still in the menu
    QCOMPARE(tour().step(), 0);
}

} // namespace palimpsest::tests

QTEST_MAIN(palimpsest::tests::TourTest)
#include "tour_test.moc"
