// When the desktop turns dark while the window is open, every open area and dialog changes its colours.
#include <QListWidget>

#include "tests/ui/desktop/program.h"
#include "tests/ui/support/looks.h"
#include "tests/ui/window/stage.h"
#include "ui/window/about_dialog.h"
#include "ui/window/command_palette.h"
#include "ui/window/keyboard_help.h"
#include "ui/window/settings_dialog.h"
#include "ui/window/tour.h"

using namespace palimpsest;
using namespace palimpsest::ui;
using namespace palimpsest::ui::test;

namespace {

using Shown = std::shared_ptr<QWidget>;

struct Whole {
    QTemporaryDir folder;
    tests::Program program{folder.path()};
};

// The window of a program with its real areas; the program lives as long as the returned pointer.
Shown whole_window(const std::function<void(MainWindow&)>& look)
{
    const auto whole = std::make_shared<Whole>();
    look(whole->program.window());
    return {whole, &whole->program.window()};
}

template<class Dialog>
Shown shown(std::shared_ptr<Dialog> dialog)
{
    dialog->show();
    return dialog;
}

} // namespace

class ColoursTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase() { use_own_places(); }

    void every_area_follows_the_palette_data()
    {
        QTest::addColumn<int>("tab");
        QTest::newRow("chat") << static_cast<int>(Tab::Chat);
        QTest::newRow("document") << static_cast<int>(Tab::Document);
        QTest::newRow("outline") << static_cast<int>(Tab::Outline);
        QTest::newRow("compare") << static_cast<int>(Tab::Compare);
    }

    void every_area_follows_the_palette()
    {
        QFETCH(int, tab);
        const auto look = [&](MainWindow& window) {
            window.show_tab(static_cast<Tab>(tab));
            if (static_cast<Tab>(tab) == Tab::Document) window.focus_policy();
        };
        QCOMPARE(colours_that_stay([&] { return whole_window(look); }), QString());
    }

    void a_window_during_a_reading_follows_the_palette()
    {
        const auto at_work = [] {
            const auto stage = std::make_shared<Stage>(true);
            stage->window->set_session(some_facts("Ashford"));
            stage->window->set_frame(reading_frame());
            stage->window->tell(MessageBar::Kind::Failure, "Something is wrong; do something.");
            stage->window->start_tour();
            stage->wait_for_library();
            return Shown(stage, stage->window.get());
        };
        QCOMPARE(colours_that_stay(at_work), QString());
    }

    void every_dialog_follows_the_palette()
    {
        Stage stage;
        const Preferences preferences = stage.window->preferences();
        SettingsFacts facts;
        facts.places = {{"Documents", "~/palimpsest.db", 12'345'678}};
        for (int page = 0; page < 4; ++page) {
            const auto settings = [&] {
                auto dialog = std::make_shared<SettingsDialog>(preferences, facts, nullptr);
                dialog->findChild<QListWidget*>()->setCurrentRow(page);
                return shown(dialog);
            };
            QCOMPARE(colours_that_stay(settings), QString());
        }
        for (const AboutPage page : {AboutPage::Program, AboutPage::Privacy, AboutPage::Licences})
            QCOMPARE(colours_that_stay([&] {
                         return shown(std::make_shared<AboutDialog>("0.1.0", facts.places, page, nullptr));
                     }),
                     QString());
        QCOMPARE(colours_that_stay(
                     [&] { return shown(std::make_shared<KeyboardHelp>(stage.window->actions(), nullptr)); }),
                 QString());
        const auto palette = [&] {
            auto made = std::make_shared<CommandPalette>(stage.window->actions(), stage.window.get());
            made->begin();
            return Shown(made);
        };
        QCOMPARE(colours_that_stay(palette), QString());
    }
};

QTEST_MAIN(ColoursTest)
#include "colours_test.moc"
