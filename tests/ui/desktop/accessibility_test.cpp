// Accessibility of the whole window: names and roles, the Tab key, a tour without a mouse, contrast.
#include <QAccessible>
#include <QComboBox>
#include <QDialog>
#include <QLabel>
#include <QLineEdit>
#include <QRadioButton>
#include <QSet>
#include <QTabBar>
#include <QTableView>

#include "tests/ui/desktop/program.h"
#include "tests/ui/support/looks.h"
#include "tests/ui/support/patience.h"
#include "ui/base/theme.h"
#include "ui/chat/message_layout.h"
#include "ui/chat/question_button.h"
#include "ui/document/shading.h"
#include "ui/map/colors.h"
#include "ui/map/painter.h"
#include "ui/map/table_window.h"
#include "ui/window/appearance.h"
#include "ui/window/command_palette.h"
#include "ui/window/tour.h"

namespace palimpsest::tests {

using namespace palimpsest::ui;

namespace {

constexpr double least_contrast = 4.5;

QString described(const QWidget* widget)
{
    return QStringLiteral("%1 “%2” in %3")
        .arg(QLatin1String(widget->metaObject()->className()), widget->objectName(),
             widget->parentWidget() ? QLatin1String(widget->parentWidget()->metaObject()->className())
                                    : QLatin1String("nothing"));
}

// Whether Qt made the widget as a part of another one, which has name and role for both.
bool is_part_of_a_widget(const QWidget* widget)
{
    const QWidget* parent = widget->parentWidget();
    return widget->inherits("QScrollBar") || widget->inherits("QHeaderView") ||
           widget->inherits("QTableCornerButton") || qobject_cast<const QAbstractSpinBox*>(parent) ||
           qobject_cast<const QComboBox*>(parent) || widget->objectName().startsWith(QLatin1String("qt_")) ||
           (parent && parent->inherits("QComboBoxPrivateContainer"));
}

// Whether Tab must reach the widget.
bool wants_tab(const QWidget* widget)
{
    if (!(widget->focusPolicy() & Qt::TabFocus) || !widget->isVisible() || !widget->isEnabled()) return false;
    // Tab reaches only the checked radio button of a group; arrow keys reach the others.
    const auto* radio = qobject_cast<const QRadioButton*>(widget);
    return !widget->focusProxy() && !is_part_of_a_widget(widget) && (!radio || radio->isChecked());
}

bool is_interactive(QAccessible::Role role)
{
    static const QSet<QAccessible::Role> roles = {
        QAccessible::PushButton,   QAccessible::CheckBox, QAccessible::RadioButton, QAccessible::ComboBox,
        QAccessible::EditableText, QAccessible::Slider,   QAccessible::SpinBox,     QAccessible::List,
        QAccessible::ListItem,     QAccessible::Tree,     QAccessible::TreeItem,    QAccessible::Table,
        QAccessible::PageTab,      QAccessible::MenuItem, QAccessible::ButtonMenu,  QAccessible::ButtonDropDown,
        QAccessible::Chart,        QAccessible::Document, QAccessible::PageTabList, QAccessible::Link};
    return roles.contains(role);
}

void check_interface(QAccessibleInterface* interface, QStringList& troubles)
{
    const auto* widget = qobject_cast<const QWidget*>(interface->object());
    const QString name = interface->text(QAccessible::Name);
    const auto role = interface->role();
    const QString what = widget ? described(widget) : QStringLiteral("a part, role %1").arg(role);
    if (widget && (!widget->isVisible() || is_part_of_a_widget(widget))) return;
    QAccessibleTableCellInterface* const cell = interface->tableCellInterface();
    if (cell && cell->columnIndex() > 0) return; // only the first cell of a row must have a name
    const bool focusable = widget && widget->focusPolicy() != Qt::NoFocus && !widget->focusProxy();
    if ((is_interactive(role) || focusable) && name.trimmed().isEmpty()) troubles << what + " has no name";
    if (focusable && (role == QAccessible::NoRole || role == QAccessible::Client))
        troubles << what + " has no role";
}

void walk(QAccessibleInterface* interface, QStringList& troubles, int& seen)
{
    if (!interface || !interface->isValid() || interface->state().invisible) return;
    ++seen;
    check_interface(interface, troubles);
    if (interface->role() == QAccessible::ScrollBar || interface->role() == QAccessible::SpinBox) return;
    constexpr int most_children = 60; // the other entries of a long list are like these
    for (int i = 0; i < std::min(interface->childCount(), most_children); ++i)
        walk(interface->child(i), troubles, seen);
}

// All problems with names and roles below `root`.
QStringList troubles_of(QWidget& root)
{
    QStringList troubles;
    int seen = 0;
    walk(QAccessible::queryAccessibleInterface(&root), troubles, seen);
    if (seen < 5) troubles << QStringLiteral("only %1 interfaces below %2").arg(seen).arg(described(&root));
    return troubles;
}

// Returns the widgets that `key` reaches from the focused one until one repeats. `trap`: set if the focus is lost,
// stays on a widget or never comes back.
QSet<QWidget*> reached_by(Qt::Key key, QString* trap)
{
    QSet<QWidget*> reached;
    constexpr int most = 500;
    for (int i = 0; i < most; ++i) {
        QWidget* const now = QApplication::focusWidget();
        if (!now) {
            *trap = QStringLiteral("the focus was lost");
            return reached;
        }
        if (reached.contains(now)) return reached;
        reached.insert(now);
        QTest::keyClick(now, key);
        if (QApplication::focusWidget() == now && i > 0) *trap = described(now);
    }
    *trap = QStringLiteral("Tab never comes back");
    return reached;
}

QStringList unreached_by_tab(QWidget& window)
{
    QStringList troubles;
    for (const Qt::Key key : {Qt::Key_Tab, Qt::Key_Backtab}) {
        QString trap;
        const QSet<QWidget*> reached = reached_by(key, &trap);
        if (!trap.isEmpty()) troubles << QStringLiteral("Trapped: ") + trap;
        for (QWidget* widget : window.findChildren<QWidget*>())
            if (widget->window() == &window && wants_tab(widget) && !reached.contains(widget))
                troubles << QStringLiteral("%1 is not reached with %2")
                                .arg(described(widget), key == Qt::Key_Tab ? "Tab" : "Shift+Tab");
    }
    return troubles;
}

QStringList unreadable(QWidget& root)
{
    QStringList troubles;
    for (const QWidget* widget : root.findChildren<QWidget*>()) {
        const bool has_text = qobject_cast<const QLabel*>(widget) || qobject_cast<const QAbstractButton*>(widget) ||
                              qobject_cast<const QLineEdit*>(widget) || widget->inherits("QAbstractScrollArea");
        if (!has_text || !widget->isVisible() || !widget->isEnabled()) continue;
        const QColor text = widget->palette().color(widget->foregroundRole());
        const QColor behind = widget->palette().color(widget->backgroundRole());
        if (behind.alpha() == 255 && contrast(text, behind) < least_contrast)
            troubles << QStringLiteral("%1: %2 on %3 is %4")
                            .arg(described(widget), text.name(), behind.name())
                            .arg(contrast(text, behind));
    }
    return troubles;
}

struct NamedPalette {
    const char* name;
    QPalette palette;
};

// The palettes of two desktops, of the program's own colours and of Qt.
std::vector<NamedPalette> palettes()
{
    std::vector<NamedPalette> all = {{"light desktop", test::light_palette()},
                                     {"dark desktop", test::dark_palette()}};
    for (const Colours colours : {Colours::Light, Colours::Dark, Colours::AsDesktop}) {
        Preferences preferences;
        preferences.colours = colours;
        apply_appearance(preferences);
        all.push_back({colours == Colours::Light  ? "own light"
                       : colours == Colours::Dark ? "own dark"
                                                  : "Qt's",
                       QApplication::palette()});
    }
    return all;
}

} // namespace

class AccessibilityTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase();
    void cleanup();
    void everything_has_a_name_and_a_role();
    void tab_reaches_all_of_a_dialog_and_everything_has_a_name();
    void tab_reaches_every_widget_and_is_never_trapped();
    void the_tour_works_by_keyboard();
    void an_offered_question_is_asked_once();
    void the_keyboard_opens_the_map_as_a_table();
    void text_has_enough_contrast_in_every_palette();

private:
    void open_program();
    void ask_and_settle();
    void look_into(ActionId id, const std::function<void(QWidget&)>& look);
    static void press(Qt::Key key, Qt::KeyboardModifiers held = Qt::NoModifier)
    {
        QWidget* const to = QApplication::focusWidget();
        QVERIFY2(to, "nothing has the focus");
        QTest::keyClick(to, key, held);
    }

    std::unique_ptr<QTemporaryDir> folder_;
    std::unique_ptr<Program> program_;
};

void AccessibilityTest::initTestCase()
{
    QAccessible::setActive(true);
}

void AccessibilityTest::cleanup()
{
    program_.reset();
    QApplication::setPalette(test::light_palette());
}

void AccessibilityTest::open_program()
{
    folder_ = std::make_unique<QTemporaryDir>();
    const QString sample = part_of_sample(*folder_, sized(8000));
    QVERIFY(!sample.isEmpty());
    program_ = std::make_unique<Program>(folder_->path(), sample);
    Preferences preferences = program_->window().preferences();
    preferences.budget = QString::number(sized(512));
    preferences.chunk = sized(256);
    preferences.max_tokens = sized(16);
    preferences.reduced_motion = true;
    program_->window().change_preferences(preferences);
    program_->window().activateWindow();
    QVERIFY(QTest::qWaitForWindowActive(&program_->window(), test::patience_ms));
}

// Opens a session with a document and an answer.
void AccessibilityTest::ask_and_settle()
{
    open_program();
    program_->store().set_tour_taken();
    program_->bench().begin({});
    program_->window().open_paths({program_->window().places().sample});
    QVERIFY(program_->settle());
    program_->say(QStringLiteral("Who kept the light?"));
    QVERIFY(program_->settle());
    QCOMPARE(program_->failures(), QStringList());
    QCOMPARE(program_->facts()->turns.size(), size_t{2});
}

// Opens the dialog of the action `id`, calls `look` with the dialog, and closes it.
void AccessibilityTest::look_into(ActionId id, const std::function<void(QWidget&)>& look)
{
    MainWindow* const window = &program_->window();
    program_->trigger(id);
    QWidget* dialog = nullptr;
    const bool is_there = test::eventually([&] {
        dialog = QApplication::activeWindow();
        const QWidget* focus = QApplication::focusWidget();
        return dialog && dialog != window && focus && dialog->isAncestorOf(focus);
    });
    QVERIFY2(is_there, qPrintable(window->actions()[id]->text()));
    look(*dialog);
    dialog->close();
    window->activateWindow(); // a desktop does the same when a dialog closes
    QVERIFY(test::eventually([&] { return QApplication::activeWindow() == window; }));
}

void AccessibilityTest::everything_has_a_name_and_a_role()
{
    ask_and_settle();
    for (const Tab tab : {Tab::Chat, Tab::Document, Tab::Outline, Tab::Compare}) {
        program_->window().show_tab(tab);
        QVERIFY(program_->comes_to_rest());
        QCOMPARE(troubles_of(program_->window()).join(u'\n'), QString());
    }
    program_->window().focus_policy();
    QVERIFY(program_->comes_to_rest());
    QCOMPARE(troubles_of(program_->window()).join(u'\n'), QString());
    program_->window().start_tour();
    QCOMPARE(troubles_of(*program_->window().tour()).join(u'\n'), QString());
    program_->window().tour()->leave();

    QAccessibleInterface* chat = QAccessible::queryAccessibleInterface(program_->areas().chat()->view());
    QCOMPARE(chat->role(), QAccessible::List);
    QVERIFY(chat->child(0)->text(QAccessible::Name).contains(QStringLiteral("Who kept the light?")));
    QCOMPARE(QAccessible::queryAccessibleInterface(program_->areas().map())->role(), QAccessible::Chart);
    QCOMPARE(QAccessible::queryAccessibleInterface(program_->areas().document()->view())->role(),
             QAccessible::Document);
}

void AccessibilityTest::tab_reaches_all_of_a_dialog_and_everything_has_a_name()
{
    ask_and_settle();
    for (const ActionId id : {ActionId::ShowSettings, ActionId::About, ActionId::Privacy, ActionId::KeyboardHelp,
                              ActionId::CommandPalette}) {
        QStringList troubles;
        look_into(id, [&](QWidget& dialog) {
            troubles = troubles_of(dialog) + test::nameless(dialog) + unreached_by_tab(dialog);
            if (dialog.windowTitle().isEmpty() && dialog.accessibleName().isEmpty())
                troubles << QStringLiteral("the dialog itself has no name");
        });
        QVERIFY2(troubles.isEmpty(),
                 qPrintable(program_->window().actions()[id]->text() + u'\n' + troubles.join(u'\n')));
    }
}

void AccessibilityTest::tab_reaches_every_widget_and_is_never_trapped()
{
    ask_and_settle();
    for (const Tab tab : {Tab::Chat, Tab::Document, Tab::Outline, Tab::Compare}) {
        program_->window().show_tab(tab);
        QVERIFY(program_->comes_to_rest());
        EVENTUALLY(QApplication::focusWidget());
        QCOMPARE(unreached_by_tab(program_->window()).join(u'\n'), QString());
    }
    program_->window().focus_policy();
    QVERIFY(program_->comes_to_rest());
    QCOMPARE(unreached_by_tab(program_->window()).join(u'\n'), QString());
}

void AccessibilityTest::the_tour_works_by_keyboard()
{
    open_program();
    QVERIFY(!program_->store().tour_was_taken());
    program_->bench().begin({});
    Tour* tour = program_->window().tour();
    QVERIFY(tour);
    QCOMPARE(tour->step(), 0);
    press(Qt::Key_Return); // the tour's button reads the sample
    EVENTUALLY_EQUAL(tour->step(), 1);
    QVERIFY(tour->isAncestorOf(QApplication::focusWidget()));
    press(Qt::Key_Return); // the tour's button asks a question
    EVENTUALLY_EQUAL(tour->step(), 2);
    QVERIFY(tour->isAncestorOf(QApplication::focusWidget()));
    for (int step = 3; step < tour->steps(); ++step) {
        press(Qt::Key_Right);
        QCOMPARE(tour->step(), step);
        QVERIFY(tour->isAncestorOf(QApplication::focusWidget()));
    }
    press(Qt::Key_Left);
    QCOMPARE(tour->step(), tour->steps() - 2);
    press(Qt::Key_Tab);
    QVERIFY2(tour->isAncestorOf(QApplication::focusWidget()) || QApplication::focusWidget(), "lost");
    while (!tour->isAncestorOf(QApplication::focusWidget()))
        press(Qt::Key_Backtab);
    press(Qt::Key_Right);
    press(Qt::Key_Right);
    QCOMPARE(tour->step(), -1);
    QVERIFY(program_->store().tour_was_taken());
    QVERIFY(program_->settle());
    QCOMPARE(program_->failures(), QStringList());

    QCOMPARE(program_->facts()->turns.size(), size_t{2});
    press(Qt::Key_1, Qt::AltModifier);
    ChatView* chat = program_->areas().chat()->view();
    QVERIFY(chat->isVisible());
    QCOMPARE(chat->turns().count(), 2);
    QVERIFY(!chat->turns().text(1).trimmed().isEmpty());
    press(Qt::Key_L, Qt::ControlModifier);
    QCOMPARE(QApplication::focusWidget(), program_->areas().chat()->composer()->field());
    QTest::keyClicks(QApplication::focusWidget(), QStringLiteral("And then?"));
    press(Qt::Key_Return);
    QVERIFY(program_->settle());
    QCOMPARE(chat->turns().count(), 4);
}

void AccessibilityTest::an_offered_question_is_asked_once()
{
    open_program();
    program_->store().set_tour_taken();
    program_->bench().begin({});
    program_->window().open_paths({program_->window().places().sample});
    QVERIFY(program_->settle());
    EVENTUALLY(program_->areas().chat()->findChild<QuestionButton*>());
    auto* offered = program_->areas().chat()->findChild<QuestionButton*>();
    EVENTUALLY(offered->isVisible()); // Qt shows a widget that is added to a layout in a later event
    offered->setFocus();
    press(Qt::Key_Space);
    QVERIFY(program_->settle());
    QCOMPARE(program_->facts()->turns.size(), size_t{2});
}

void AccessibilityTest::the_keyboard_opens_the_map_as_a_table()
{
    ask_and_settle();
    RetentionView* map = program_->areas().map();
    for (int i = 0; i < 12 && !map->hasFocus(); ++i)
        press(Qt::Key_F6);
    QVERIFY(map->hasFocus());
    press(Qt::Key_Right);
    QVERIFY(map->place());
    press(Qt::Key_T);
    EVENTUALLY(map->findChild<MapTableWindow*>() && map->findChild<MapTableWindow*>()->isVisible());
    auto* table = map->findChild<MapTableWindow*>()->findChild<QTableView*>();
    QVERIFY(table);
    const auto& kept = *map->scene().map;
    QVERIFY(table->model()->rowCount() >= kept.layers);
    QVERIFY2(test::eventually([&] { return table->hasFocus(); }),
             qPrintable(QApplication::focusWidget() ? described(QApplication::focusWidget()) : QString()));
    QCOMPARE(troubles_of(*table->window()).join(u'\n'), QString());
    QCOMPARE(unreached_by_tab(*table->window()).join(u'\n'), QString());
    press(Qt::Key_Escape);
    QVERIFY(!table->isVisible());
}

void AccessibilityTest::text_has_enough_contrast_in_every_palette()
{
    ask_and_settle();
    using Role = QPalette::ColorRole;
    static constexpr std::pair<Role, Role> pairs[] = {{Role::WindowText, Role::Window},
                                                      {Role::Text, Role::Base},
                                                      {Role::Text, Role::AlternateBase},
                                                      {Role::ButtonText, Role::Button},
                                                      {Role::ToolTipText, Role::ToolTipBase}};
    for (const auto& [name, palette] : palettes()) {
        const auto stands_out = [&, where = QString::fromLatin1(name)](const char* what, const QColor& text,
                                                                       const QColor& behind) {
            QVERIFY2(contrast(text, behind) >= least_contrast,
                     qPrintable(QStringLiteral("%1, %2: %3 on %4 is %5")
                                    .arg(where, QLatin1String(what), text.name(), behind.name())
                                    .arg(contrast(text, behind))));
        };
        for (const auto& [text, behind] : pairs)
            stands_out("palette", palette.color(text), palette.color(behind));
        const QColor window = palette.color(QPalette::Window), base = palette.color(QPalette::Base);
        stands_out("quiet text", secondary_text(palette), window);
        stands_out("quiet text in a list", secondary_text(palette), base);
        stands_out("accent", accent(palette), window);
        const MessageStyle chat = MessageStyle::of(QApplication::font(), palette);
        stands_out("an answer", chat.text, base);
        stands_out("a note", chat.quiet, base);
        stands_out("a link", chat.link, base);
        stands_out("code", chat.text, chat.code_background);
        const RetentionPainter painter(QApplication::font(), palette);
        stands_out("the map's words", painter.quiet(), painter.background());
        stands_out("the map's marks", painter.mark(), painter.background());
        const RetentionColors& colors = RetentionColors::of(is_dark(palette));
        const ShadeTable shades([&](double share) { return colors.of_share(share); }, palette);
        const ShadeTable usual(default_shades(palette), palette);
        for (int step = 0; step <= 64; ++step) {
            stands_out("a shaded token", shades.of(step / 64.0).ink, shades.of(step / 64.0).background);
            stands_out("a shaded token", usual.of(step / 64.0).ink, usual.of(step / 64.0).background);
        }
        QApplication::setPalette(palette);
        QVERIFY(program_->comes_to_rest());
        for (const Tab tab : {Tab::Chat, Tab::Document, Tab::Outline, Tab::Compare}) {
            program_->window().show_tab(tab);
            const QStringList troubles = unreadable(program_->window());
            QVERIFY2(troubles.isEmpty(), qPrintable(QLatin1String(name) + u'\n' + troubles.join(u'\n')));
        }
    }
}

} // namespace palimpsest::tests

QTEST_MAIN(palimpsest::tests::AccessibilityTest)
#include "accessibility_test.moc"
