// The dialog that goes to a heading or a token.
#include <QLineEdit>
#include <QListView>
#include <QTest>

#include "ui/document/go_to_dialog.h"

namespace palimpsest::ui {

class GoToTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void headings_show_their_level_and_page();
};

void GoToTest::headings_show_their_level_and_page()
{
    const TextOutline outline{.tokens = 900,
                              .parts = {{.range = {0, 900}, .kind = PartKind::Document, .id = 1}},
                              .headings = {{.title = "Book", .token = 0},
                                           {.title = "One", .token = 100, .level = 1},
                                           {.title = "", .token = 200, .level = 2}},
                              .pages = {{"", 0}, {"xii", 150}}};
    GoToDialog dialog(outline, 0);
    const QAbstractItemModel* shown = dialog.findChild<QListView*>()->model();
    const auto text = [&](int row, int role) { return shown->index(row, 0).data(role).toString(); };
    QCOMPARE(text(0, Qt::DisplayRole), "Book");
    QCOMPARE(text(1, Qt::DisplayRole), QString(2, QChar::Nbsp) + "One");
    QCOMPARE(text(2, Qt::DisplayRole), QString(4, QChar::Nbsp) + "(no title) · page xii");
    QCOMPARE(text(2, Qt::AccessibleTextRole), "(no title) · page xii");
    dialog.findChild<QLineEdit*>()->setText("page x");
    QCOMPARE(shown->rowCount(), 1);
}

} // namespace palimpsest::ui

QTEST_MAIN(palimpsest::ui::GoToTest)
#include "go_to_test.moc"
