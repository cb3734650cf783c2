// The command palette: how it matches letters, and which commands it offers.
#include <QFile>
#include <QLineEdit>
#include <QSignalSpy>
#include <QTreeView>

#include "tests/ui/support/patience.h"
#include "tests/ui/window/stage.h"
#include "ui/window/command_palette.h"
#include "ui/window/fuzzy_match.h"

using namespace palimpsest;
using namespace palimpsest::ui;
using namespace palimpsest::ui::test;

class CommandPaletteTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase() { use_own_places(); }

    void a_few_letters_find_a_command()
    {
        const auto score = [](const char* typed, const char* text) {
            return fuzzy_match(QString::fromUtf8(typed), QString::fromUtf8(text));
        };
        QVERIFY(!score("xyz", "Open a document"));
        QVERIFY(!score("tnemucod", "document"));
        QVERIFY(score("opdoc", "Open a document"));
        QVERIFY(score("", "anything"));
        QVERIFY(*score("od", "Open a document") > *score("od", "Records of old"));
        QVERIFY(*score("exp", "Export the map") > *score("exp", "Let it be explained perhaps"));
        QVERIFY(*score("doc", "Document") > *score("doc", "d-o-c"));
        QVERIFY(score("uber", "Über den Fluss")); // accents do not matter
        QVERIFY(score("F U", "Full screen"));
    }

    void the_palette_finds_and_runs_a_command()
    {
        Stage stage;
        QSignalSpy wanted(stage.window.get(), &MainWindow::new_session_wanted);
        stage.window->actions()[ActionId::CommandPalette]->trigger();
        auto* palette = stage.window->findChild<CommandPalette*>();
        QVERIFY(palette && palette->isVisible());
        auto* field = palette->findChild<QLineEdit*>();
        auto* list = palette->findChild<QTreeView*>();
        QTest::keyClicks(field, "new session");
        QVERIFY(list->model()->rowCount() >= 2);
        QCOMPARE(list->currentIndex().row(), 0);
        QCOMPARE(list->currentIndex().siblingAtColumn(0).data().toString(), QString("New session"));
        QCOMPARE(list->currentIndex().siblingAtColumn(2).data().toString(), QString("Ctrl+N"));
        grab(*palette, "palette");
        QTest::keyClick(field, Qt::Key_Return);
        QVERIFY(!palette->isVisible());
        QCOMPARE(wanted.count(), 1);
        QCOMPARE(wanted[0][0].toBool(), true);
        stage.window->actions()[ActionId::CommandPalette]->trigger();
        QTest::keyClicks(field, "zzzz");
        QCOMPARE(list->model()->rowCount(), 0);
        QTest::keyClick(field, Qt::Key_Return); // without a match, runs nothing
        QTest::keyClick(field, Qt::Key_Escape);
        QVERIFY(!palette->isVisible());
    }

    void shortcuts_of_the_window_work_in_a_text_field()
    {
        Stage stage;
        stage.window->activateWindow();
        QVERIFY(QTest::qWaitForWindowActive(stage.window.get(), test::patience_ms));
        auto* field = stage.window->library().findChild<QLineEdit*>();
        field->setText("words");
        field->setFocus();
        QTest::keyClick(field, Qt::Key_Home);
        QTest::keyClick(field, Qt::Key_K, Qt::ControlModifier);
        const auto* palette = stage.window->findChild<CommandPalette*>();
        QVERIFY(palette && palette->isVisible());
        QCOMPARE(field->text(), QString("words"));
    }

    void the_place_of_an_action_is_its_menu_or_submenu()
    {
        Stage stage;
        QFile file(stage.folder.filePath("Ashford.md"));
        QVERIFY(file.open(QIODevice::WriteOnly));
        stage.window->open_paths({file.fileName()});
        const Actions& actions = stage.window->actions();
        QStringList recent;
        for (const QAction* action : actions.in_menus())
            if (actions.place(action) == "Open recent") recent += plain_text(*action);
        QCOMPARE(recent, (QStringList{"Ashford.md", "Forget these"}));
        QCOMPARE(actions.place(actions[ActionId::ImportSession]), QString("File"));
    }

    void the_palette_offers_only_enabled_commands()
    {
        Stage stage;
        CommandPalette palette(stage.window->actions(), stage.window.get());
        palette.begin();
        const auto offers = [&](const QString& text) {
            const auto* list = palette.findChild<QTreeView*>();
            return !list->model()->match(list->model()->index(0, 0), Qt::DisplayRole, text).isEmpty();
        };
        QVERIFY(!offers("Stop"));
        QVERIFY(offers("Quit"));
        stage.window->set_frame(reading_frame());
        palette.begin();
        QVERIFY(offers("Stop"));
    }
};

QTEST_MAIN(CommandPaletteTest)
#include "command_palette_test.moc"
