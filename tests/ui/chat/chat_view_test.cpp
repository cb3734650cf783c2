// The chat view opens ten thousand turns quickly and follows a growing answer only when scrolled to the end. Every
// action works by keyboard, by menu and by accessible name.
#include <QAccessible>
#include <QApplication>
#include <QClipboard>
#include <QElapsedTimer>
#include <QLabel>
#include <QMenu>
#include <QScrollBar>
#include <QSignalSpy>
#include <QTest>

#include "tests/ui/support/at_rest.h"
#include "tests/ui/support/looks.h"
#include "tests/ui/support/patience.h"
#include "ui/base/theme.h"
#include "ui/chat/chat_page.h"
#include "ui/chat/chat_view.h"
#include "ui/chat/composer.h"
#include "ui/chat/empty_chat.h"
#include "ui/chat/question_button.h"
#include "ui/chat/question_field.h"

using namespace palimpsest;
using namespace palimpsest::ui;

namespace {

Turn question(int64_t message, const QString& text)
{
    Turn turn;
    turn.message = message;
    turn.text = text;
    return turn;
}

Turn answer(int64_t message, const QString& text)
{
    Turn turn = question(message, text);
    turn.role = storage::Role::Assistant;
    Provenance from;
    from.tokens_in_input = from.tokens_read = 48877;
    from.budget = 2048;
    from.sources = {{{100, 200}, 0.6, 0.5}, {{300, 400}, 0.2, 0.1}};
    turn.provenance = from;
    return turn;
}

std::vector<Turn> talk(int turns)
{
    std::vector<Turn> out;
    for (int i = 0; i < turns; i += 2) {
        out.push_back(question(i + 1, QStringLiteral("Question %1?").arg(i)));
        out.push_back(
            answer(i + 2, QStringLiteral("Answer **%1**, which has a [link](https://a.example/%1) and some words. ")
                              .arg(i)
                              .repeated(1 + i % 7)));
    }
    return out;
}

void show(QWidget& widget, int width = 800, int height = 600)
{
    widget.resize(width, height);
    widget.show();
    QVERIFY(QTest::qWaitForWindowExposed(&widget, test::patience_ms));
    widget.activateWindow();
    widget.setFocus();
    QVERIFY(test::comes_to_rest(widget));
}

} // namespace

class ChatViewTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void only_visible_turns_of_ten_thousand_are_laid_out();
    void the_view_follows_a_growing_answer_only_at_the_end();
    void the_current_turn_keeps_its_place();
    void keys_do_what_the_menu_does();
    void arrow_keys_show_earlier_answers();
    void notes_say_how_an_answer_ended_and_what_was_read();
    void a_click_opens_a_link_or_copies_code();
    void a_selection_is_copied_as_text_or_markdown();
    void long_code_is_folded();
    void arrow_keys_visit_every_turn();
    void screen_readers_find_turns_and_hear_new_answers();
    void every_widget_has_a_name();
    void the_page_and_the_view_follow_the_palette();
    void the_empty_chat_shows_explanations_in_secondary_text();
    void the_same_questions_keep_their_buttons();
    void a_long_question_is_elided_on_its_button();
    void the_page_connects_start_composer_and_view();
};

void ChatViewTest::only_visible_turns_of_ten_thousand_are_laid_out()
{
    ChatView few, many;
    show(few);
    show(many);
    few.set_turns(talk(100));
    EVENTUALLY(few.is_laid_out());
    many.set_turns(talk(10000));
    EVENTUALLY(many.is_laid_out());
    QVERIFY(many.is_at_end());
    // Only the blocks in view are laid out, however many turns there are.
    QVERIFY(few.layouts_made() > 0);
    QVERIFY2(many.layouts_made() <= 2 * few.layouts_made() + 10, qPrintable(QString::number(many.layouts_made())));
    many.verticalScrollBar()->setValue(many.verticalScrollBar()->maximum() / 2);
    EVENTUALLY(many.is_laid_out());
    QVERIFY(!many.is_at_end());
    QVERIFY(many.layouts_made() <= 4 * few.layouts_made() + 20);
}

void ChatViewTest::the_view_follows_a_growing_answer_only_at_the_end()
{
    ChatView view;
    show(view);
    view.set_turns(talk(40));
    auto* jump = view.findChild<QToolButton*>();
    QVERIFY(view.is_at_end());
    QVERIFY(!jump->isVisible());
    view.begin_answer(QStringLiteral("And then?"));
    QString text;
    for (int i = 0; i < 50; ++i) {
        text += QStringLiteral("A sentence that grows.\n\n");
        view.grow_answer(text);
        QVERIFY(view.is_at_end());
        QCOMPARE(view.verticalScrollBar()->value(), view.verticalScrollBar()->maximum());
    }
    view.verticalScrollBar()->setValue(view.verticalScrollBar()->maximum() / 2);
    EVENTUALLY(view.is_laid_out());
    QVERIFY(!view.is_at_end());
    QVERIFY(jump->isVisible());
    const int place = view.verticalScrollBar()->value();
    for (int i = 0; i < 50; ++i) {
        text += QStringLiteral("A sentence that grows.\n\n");
        view.grow_answer(text);
        QCOMPARE(view.verticalScrollBar()->value(), place);
    }
    QTest::mouseClick(jump, Qt::LeftButton);
    EVENTUALLY(view.is_laid_out());
    QVERIFY(view.is_at_end());
    QCOMPARE(view.verticalScrollBar()->value(), view.verticalScrollBar()->maximum());
    view.verticalScrollBar()->setValue(0);
    QVERIFY(!view.is_at_end());
    QTest::keyClick(&view, Qt::Key_End);
    QVERIFY(view.is_at_end());
}

void ChatViewTest::the_current_turn_keeps_its_place()
{
    ChatView view;
    show(view);
    view.set_turns(talk(400));
    view.set_current_turn(200);
    EVENTUALLY(view.is_laid_out());
    const int before = view.turn_rect(200).top();
    // Scrolling up lays out turns above for the first time; the current turn must keep its place.
    for (int i = 0; i < 10; ++i)
        view.verticalScrollBar()->setValue(view.verticalScrollBar()->value() - 100);
    EVENTUALLY(view.is_laid_out());
    for (int i = 0; i < 10; ++i)
        view.verticalScrollBar()->setValue(view.verticalScrollBar()->value() + 100);
    EVENTUALLY(view.is_laid_out());
    QVERIFY2(std::abs(view.turn_rect(200).top() - before) <= 2,
             qPrintable(QString::number(view.turn_rect(200).top() - before)));
    // Setting the same turns again moves nothing and lays out nothing.
    const uint64_t made = view.layouts_made();
    view.set_turns(talk(400));
    QVERIFY(std::abs(view.turn_rect(200).top() - before) <= 2);
    QCOMPARE(view.layouts_made(), made);
    view.resize(560, 600);
    EVENTUALLY(view.is_laid_out());
    QVERIFY(view.viewport()->rect().intersects(view.turn_rect(200)));
}

void ChatViewTest::keys_do_what_the_menu_does()
{
    ChatView view;
    show(view);
    view.set_turns(talk(6));
    QSignalSpy regenerate(&view, &ChatView::regenerate_wanted), branch(&view, &ChatView::branch_wanted);
    QSignalSpy place(&view, &ChatView::place_wanted), xray(&view, &ChatView::sources_wanted);
    view.set_current_turn(5);
    QTest::keyClick(&view, Qt::Key_C);
    QVERIFY(QGuiApplication::clipboard()->text().startsWith(QLatin1String("Answer 4, which")));
    QTest::keyClick(&view, Qt::Key_M);
    QVERIFY(QGuiApplication::clipboard()->text().startsWith(QLatin1String("Answer **4**")));
    QTest::keyClick(&view, Qt::Key_R);
    QCOMPARE(regenerate.count(), 1);
    QTest::keyClick(&view, Qt::Key_X);
    QCOMPARE(xray.count(), 1);
    QCOMPARE(xray[0][0].value<Turn>().message, 6);
    QTest::keyClick(&view, Qt::Key_2);
    QCOMPARE(place.count(), 1);
    QCOMPARE(place[0][0].value<StreamRange>(), (StreamRange{300, 400}));
    view.set_current_turn(3);
    QTest::keyClick(&view, Qt::Key_R); // only the last answer can be regenerated
    QCOMPARE(regenerate.count(), 1);
    view.set_current_turn(4);
    QTest::keyClick(&view, Qt::Key_E);
    QCOMPARE(branch.count(), 1);
    QCOMPARE(branch[0][0].toLongLong(), 5);
    QCOMPARE(branch[0][1].toString(), QStringLiteral("Question 4?"));
    for (int turn = 0; turn < view.turns().count(); ++turn) {
        const auto menu = view.menu_of(turn);
        QStringList labels;
        for (const QAction* action : menu->actions())
            labels += action->text();
        for (const TurnAction action : view.turns().actions(turn))
            QVERIFY(labels.contains(view.turns().action_label(turn, action)));
    }
    const auto menu = view.menu_of(5);
    QSignalSpy link(&view, &ChatView::link_activated);
    for (QAction* action : menu->actions())
        if (action->menu() && action->text() == QLatin1String("Links"))
            action->menu()->actions().front()->trigger();
    QCOMPARE(link.count(), 1);
    QCOMPARE(link[0][0].toString(), QStringLiteral("https://a.example/4"));
}

void ChatViewTest::arrow_keys_show_earlier_answers()
{
    ChatView view;
    show(view);
    std::vector<Turn> turns = talk(2);
    turns[1].earlier = {QStringLiteral("First."), QStringLiteral("Second.")};
    view.set_turns(turns);
    view.set_current_turn(1);
    QTest::keyClick(&view, Qt::Key_Left);
    QCOMPARE(view.turns().text(1), QStringLiteral("Second."));
    QVERIFY(view.turns().notes(1).contains(QLatin1String("earlier answer")));
    QTest::keyClick(&view, Qt::Key_Left);
    QTest::keyClick(&view, Qt::Key_Left);
    QCOMPARE(view.turns().text(1), QStringLiteral("First."));
    QTest::keyClick(&view, Qt::Key_Right);
    QTest::keyClick(&view, Qt::Key_Right);
    QVERIFY(view.turns().text(1).startsWith(QLatin1String("Answer 0")));
    // begin_answer({}) makes the current answer an earlier one; abandon_answer() restores it.
    view.begin_answer({});
    QCOMPARE(view.turns().count(), 2);
    view.grow_answer(QStringLiteral("Third"));
    QCOMPARE(view.turns().text(1), QStringLiteral("Third"));
    view.abandon_answer();
    QVERIFY(view.turns().text(1).startsWith(QLatin1String("Answer 0")));
    view.begin_answer(QStringLiteral("New?"));
    QCOMPARE(view.turns().count(), 4);
    view.abandon_answer();
    QCOMPARE(view.turns().count(), 2);
}

void ChatViewTest::notes_say_how_an_answer_ended_and_what_was_read()
{
    ChatView view;
    show(view);
    std::vector<Turn> turns = talk(8);
    turns[1].state = storage::MessageState::Stopped;
    turns[3].state = storage::MessageState::Cut;
    turns[5].damaged = true;
    turns[7].provenance->tokens_read = 1000;
    view.set_turns(turns);
    QVERIFY(view.turns().notes(1).contains(
        QLatin1String("48,877 of 48,877 tokens read, 2,048 kept per head, nothing cut")));
    // The notes do not say which share of the sources is still kept.
    QVERIFY(!view.turns().notes(1).contains(QLatin1String("40 %")));
    QVERIFY(view.turns().notes(1).contains(QLatin1String("Stopped")));
    QVERIFY(view.turns().notes(3).contains(QLatin1String("Cut at the length limit")));
    QVERIFY(view.turns().notes(5).contains(QLatin1String("Damaged")));
    QVERIFY(view.turns().notes(7).contains(QLatin1String("1,000 of 48,877 tokens read")));
    QVERIFY(view.turns().notes(7).contains(QLatin1String("47,877 not read yet")));
    QVERIFY(view.turns().name(1).contains(QLatin1String("Stopped")));
}

void ChatViewTest::a_click_opens_a_link_or_copies_code()
{
    ChatView view;
    show(view);
    view.set_turns(
        {answer(2, QStringLiteral("[here is a long link text](https://a.example/x)\n\n```c\nint x;\n```\n"))});
    EVENTUALLY(view.is_laid_out());
    QSignalSpy link(&view, &ChatView::link_activated);
    bool copied = false;
    QGuiApplication::clipboard()->clear();
    const QRect all = view.turn_rect(0);
    for (int y = all.top() + 30; y < all.bottom() && !copied; y += 4)
        for (const int x : {all.left() + 20, all.right() - 12}) {
            if (link.isEmpty() || x > all.center().x())
                QTest::mouseClick(view.viewport(), Qt::LeftButton, {}, {x, y});
            copied = copied || QGuiApplication::clipboard()->text() == QLatin1String("int x;\n");
        }
    QCOMPARE(link.count(), 1);
    QCOMPARE(link[0][0].toString(), QStringLiteral("https://a.example/x"));
    QVERIFY(copied);
}

void ChatViewTest::a_selection_is_copied_as_text_or_markdown()
{
    ChatView view;
    show(view);
    view.set_turns({question(1, QStringLiteral("one two")), answer(2, QStringLiteral("*three* four"))});
    EVENTUALLY(view.is_laid_out());
    QTest::keyClick(&view, Qt::Key_Home);
    QTest::keyClick(&view, Qt::Key_A, Qt::ControlModifier);
    QVERIFY(view.selected_text().contains(QLatin1String("four")) ||
            view.selected_text() == QLatin1String("one two"));
    const QRect first = view.turn_rect(0), second = view.turn_rect(1);
    const QPoint from(first.left() + 1, first.top() + first.height() / 2),
        to(second.right() - 1, second.top() + view.fontMetrics().height() * 2);
    QTest::mousePress(view.viewport(), Qt::LeftButton, {}, from);
    QMouseEvent move(QEvent::MouseMove, to, view.viewport()->mapToGlobal(to), Qt::NoButton, Qt::LeftButton, {});
    QApplication::sendEvent(view.viewport(), &move);
    QTest::mouseRelease(view.viewport(), Qt::LeftButton, {}, to);
    QCOMPARE(view.selected_text(), QStringLiteral("one two\n\nthree four"));
    QCOMPARE(view.selected_markdown(), QStringLiteral("one two\n\n*three* four"));
    QTest::keyClick(&view, Qt::Key_C, Qt::ControlModifier);
    QCOMPARE(QGuiApplication::clipboard()->text(), QStringLiteral("one two\n\nthree four"));
}

void ChatViewTest::long_code_is_folded()
{
    ChatView view;
    show(view);
    view.set_turns({answer(2, QStringLiteral("```\n") + QStringLiteral("int x;\n").repeated(100000) +
                                  QStringLiteral("```\n"))});
    EVENTUALLY(view.is_laid_out());
    const int folded = view.turn_rect(0).height();
    view.verticalScrollBar()->setValue(0);
    EVENTUALLY(view.is_laid_out());
    for (int i = 0; i < 20; ++i) {
        view.verticalScrollBar()->setValue(i * 500);
        EVENTUALLY(view.is_laid_out());
    }
    const auto menu = view.menu_of(0);
    QAction* all = nullptr;
    for (QAction* action : menu->actions())
        if (action->text() == QLatin1String("Show all lines")) all = action;
    QVERIFY(all);
    const uint64_t made = view.layouts_made();
    all->trigger();
    EVENTUALLY(view.is_laid_out());
    QVERIFY(view.turn_rect(0).height() > 100 * folded);
    QVERIFY(view.layouts_made() < made + 50);
}

void ChatViewTest::arrow_keys_visit_every_turn()
{
    ChatView view;
    show(view);
    view.set_turns(talk(40));
    view.set_current_turn(0);
    EVENTUALLY(view.is_laid_out());
    int steps = 0;
    while (view.current_turn() < 39 && steps < 400) {
        QTest::keyClick(&view, Qt::Key_Down);
        QVERIFY(view.viewport()->rect().intersects(view.turn_rect(view.current_turn())));
        ++steps;
    }
    QCOMPARE(view.current_turn(), 39);
    QVERIFY(view.is_at_end());
    while (view.current_turn() > 0 && steps < 800) {
        QTest::keyClick(&view, Qt::Key_Up);
        ++steps;
    }
    QCOMPARE(view.current_turn(), 0);
}

void ChatViewTest::screen_readers_find_turns_and_hear_new_answers()
{
    ChatView view;
    show(view);
    view.set_turns(talk(4));
    QAccessibleInterface* list = QAccessible::queryAccessibleInterface(&view);
    QVERIFY(list);
    QCOMPARE(list->role(), QAccessible::List);
    QCOMPARE(list->text(QAccessible::Name), QStringLiteral("Chat"));
    QVERIFY(list->childCount() >= 4);
    QAccessibleInterface* turn = list->child(1);
    QCOMPARE(turn->role(), QAccessible::ListItem);
    QVERIFY(turn->text(QAccessible::Name).startsWith(QLatin1String("Palimpsest: Answer 0")));
    QVERIFY(turn->text(QAccessible::Description).contains(QLatin1String("tokens read")));
    QCOMPARE(list->indexOfChild(turn), 1);
    QVERIFY(turn->actionInterface()->actionNames().contains(QLatin1String("Copy")));
    turn->actionInterface()->doAction(QStringLiteral("Copy as Markdown"));
    QVERIFY(QGuiApplication::clipboard()->text().startsWith(QLatin1String("Answer **0**")));
    QVERIFY(!list->child(3)->state().offscreen);
    QSignalSpy announced(&view, &ChatView::announced);
    view.begin_answer(QStringLiteral("More?"));
    view.grow_answer(QStringLiteral("Yes"));
    QCOMPARE(announced.count(), 0);
    view.end_answer(answer(6, QStringLiteral("Yes.")));
    QCOMPARE(announced.count(), 1);
    QCOMPARE(announced[0][0].toInt(), 5);
    QVERIFY(list->child(5)->text(QAccessible::Name).contains(QLatin1String("Yes.")));
    view.set_turns(talk(2));
    QVERIFY(!turn->isValid() || turn->text(QAccessible::Name).startsWith(QLatin1String("Palimpsest")));
}

void ChatViewTest::every_widget_has_a_name()
{
    ChatPage page;
    page.start()->set_questions({QStringLiteral("One?"), QStringLiteral("Two & three?")});
    page.queue_question(3, QStringLiteral("Waiting?"));
    page.composer()->edit_question(1, QStringLiteral("Edited?"));
    show(page);
    QCOMPARE(test::nameless(page), QStringList());
}

void ChatViewTest::the_page_and_the_view_follow_the_palette()
{
    const auto empty = [] {
        auto page = std::make_unique<ChatPage>();
        page->start()->set_document(QStringLiteral("Ashford"));
        page->start()->set_questions({QStringLiteral("One?"), QStringLiteral("Two & three?")});
        page->queue_question(3, QStringLiteral("Waiting?"));
        show(*page);
        return page;
    };
    QCOMPARE(test::colours_that_stay(empty), QString());
    const auto talking = [] {
        auto view = std::make_unique<ChatView>();
        view->set_turns(talk(4));
        show(*view);
        return view;
    };
    QCOMPARE(test::colours_that_stay(talking), QString());
}

void ChatViewTest::the_empty_chat_shows_explanations_in_secondary_text()
{
    EmptyChat start;
    show(start);
    QSet<QRgb> colours;
    for (const QLabel* label : start.findChildren<QLabel*>())
        if (label->isVisible()) colours.insert(label->palette().color(label->foregroundRole()).rgb());
    QCOMPARE(colours,
             (QSet<QRgb>{start.palette().color(QPalette::Text).rgb(), secondary_text(start.palette()).rgb()}));
}

void ChatViewTest::the_same_questions_keep_their_buttons()
{
    EmptyChat start;
    show(start);
    const QStringList questions{QStringLiteral("One?"), QStringLiteral("Two?")};
    start.set_questions(questions);
    const auto buttons = start.findChildren<QuestionButton*>();
    QCOMPARE(buttons.size(), 2);
    start.set_questions(questions);
    QCOMPARE(start.findChildren<QuestionButton*>(), buttons);
    start.set_questions({QStringLiteral("Three?")});
    QCOMPARE(start.findChild<QuestionButton*>()->question(), QStringLiteral("Three?"));
    QCOMPARE(start.findChildren<QuestionButton*>().size(), 1);
}

void ChatViewTest::a_long_question_is_elided_on_its_button()
{
    QuestionButton button(QStringLiteral("What & who? ").repeated(40));
    show(button, 200, 40);
    QCOMPARE(button.width(), 200);
    QCOMPARE(button.accessibleName(), button.question());
    QVERIFY(button.minimumSizeHint().width() < 200);
}

void ChatViewTest::the_page_connects_start_composer_and_view()
{
    ChatPage page;
    show(page, 700, 700);
    QVERIFY(page.start()->isVisible());
    QSignalSpy asked(page.composer(), &Composer::asked);
    page.start()->set_questions({QStringLiteral("One?")});
    Q_EMIT page.start()->question_chosen(QStringLiteral("One?"));
    QCOMPARE(asked.count(), 1);
    auto facts = std::make_shared<SessionFacts>();
    facts->id = 4;
    page.show_session(facts);
    page.queue_question(9, QStringLiteral("One?"));
    QCOMPARE(page.composer()->waiting(9), QStringLiteral("One?"));
    page.begin_question(9, QStringLiteral("One?"));
    QVERIFY(page.view()->isVisible());
    QVERIFY(page.composer()->waiting(9).isEmpty());
    Frame frame;
    frame.activity = Activity::Answering;
    frame.answer = QStringLiteral("It");
    page.show_frame(frame);
    QCOMPARE(page.view()->turns().text(1), QStringLiteral("It"));
    auto later = std::make_shared<SessionFacts>(*facts);
    later->turns = {question(1, QStringLiteral("One?")), answer(2, QStringLiteral("It is."))};
    page.show_session(later); // does not replace the growing answer
    QCOMPARE(page.view()->turns().text(1), QStringLiteral("It"));
    page.end_question(9, answer(2, QStringLiteral("It is.")));
    QCOMPARE(page.view()->turns().text(1), QStringLiteral("It is."));
    QVERIFY(!page.view()->turns().is_answering());
    QSignalSpy branched(page.composer(), &Composer::branched);
    page.view()->perform(0, TurnAction::Branch);
    QCOMPARE(page.composer()->field()->toPlainText(), QStringLiteral("One?"));
    QTest::keyClick(page.composer()->field(), Qt::Key_Return);
    QCOMPARE(branched.count(), 1);
    QCOMPARE(branched[0][0].toLongLong(), 1);
    page.begin_question(11, {}); // regenerates the last answer
    QCOMPARE(page.view()->turns().count(), 2);
    page.drop_question(11);
    QCOMPARE(page.view()->turns().text(1), QStringLiteral("It is."));
    page.show_session(nullptr);
    QVERIFY(page.start()->isVisible());
}

QTEST_MAIN(ChatViewTest)
#include "chat_view_test.moc"
