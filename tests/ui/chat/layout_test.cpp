// The chat layout without a widget: how turns are stacked, what is laid out, and which text is at a point.
#include <QApplication>
#include <QTest>

#include "ui/chat/chat_layout.h"

namespace palimpsest::ui {
namespace {

std::vector<Turn> turns_of(int count)
{
    std::vector<Turn> turns;
    for (int i = 0; i < count; ++i) {
        Turn turn;
        turn.message = i + 1;
        turn.role = i % 2 == 0 ? storage::Role::User : storage::Role::Assistant;
        // Estimated heights are wrong: a paragraph per line in some turns, one long line in others.
        turn.text = i % 2 == 0 ? QStringLiteral("Question %1?").arg(i)
                               : QStringLiteral("The keeper lit the lamp. ").repeated(5 + 37 * (i % 5)) +
                                     QStringLiteral("\n\nThe ship came.").repeated(i % 7);
        turns.push_back(std::move(turn));
    }
    return turns;
}

struct Chat {
    explicit Chat(int count, QSize viewport = {700, 400})
    {
        turns.set(turns_of(count));
        layout.set_viewport(viewport);
        layout.restyle(QFont(), QApplication::palette());
    }
    ChatLayout::Progress lay_out(int top) // the viewport at `top`, whole
    {
        return layout.lay_out(top, top + layout.viewport().height(), QDeadlineTimer(QDeadlineTimer::Forever));
    }

    TurnList turns;
    ChatLayout layout{turns};
};

} // namespace

class ChatLayoutTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void turns_touch_each_other_from_the_top_down();
    void the_column_is_neither_too_wide_nor_too_narrow();
    void the_turn_at_a_height_is_the_one_that_covers_it();
    void laying_out_leaves_the_visible_text_in_place();
    void an_expired_deadline_still_makes_progress();
    void only_visible_turns_are_laid_out_and_far_ones_are_forgotten();
    void a_hit_finds_the_character_that_was_hit();
    void without_turns_nothing_is_hit();
};

void ChatLayoutTest::turns_touch_each_other_from_the_top_down()
{
    Chat chat(30);
    QVERIFY(chat.lay_out(0).done);
    QCOMPARE(chat.layout.top(0), 0);
    for (int turn = 0; turn < 30; ++turn) {
        QVERIFY(chat.layout.bottom(turn) > chat.layout.top(turn) + chat.layout.header_height());
        if (turn > 0) QCOMPARE(chat.layout.top(turn), chat.layout.bottom(turn - 1));
        QCOMPARE(chat.layout.rect(turn).top(), chat.layout.top(turn));
        QCOMPARE(chat.layout.rect(turn).width(), chat.layout.column_width());
    }
    QCOMPARE(chat.layout.height(), chat.layout.bottom(29));
}

void ChatLayoutTest::the_column_is_neither_too_wide_nor_too_narrow()
{
    Chat chat(2);
    const int character = chat.layout.style().character;
    for (const int width : {10, 300, 700, 4000}) {
        chat.layout.set_viewport({width, 400});
        chat.layout.wrap_again();
        QVERIFY(chat.layout.column_width() >= 10 * character);
        QVERIFY(chat.layout.column_width() <= 84 * character);
        if (width < 300) continue;
        QVERIFY(chat.layout.column_left() > 0);
        QVERIFY(chat.layout.column_left() + chat.layout.column_width() < width);
    }
}

void ChatLayoutTest::the_turn_at_a_height_is_the_one_that_covers_it()
{
    Chat chat(30);
    QVERIFY(chat.lay_out(0).done);
    for (int y = 0; y < chat.layout.height(); y += 3) {
        const int turn = chat.layout.turn_at(y);
        QVERIFY(chat.layout.top(turn) <= y && y < chat.layout.bottom(turn));
    }
    QCOMPARE(chat.layout.turn_at(-50), 0);
    QCOMPARE(chat.layout.turn_at(chat.layout.height() + 50), 29);
}

// Turns that come into view are higher or lower than estimated. The text below them must not jump: the view scrolls
// by `moved`.
void ChatLayoutTest::laying_out_leaves_the_visible_text_in_place()
{
    Chat chat(40);
    int top = chat.layout.height() - 400; // the end, as when a chat is opened
    bool is_moved = false;
    for (int step = 0; step < 60 && top > 0; ++step) {
        // The last measured turn in view, which a reader looks at.
        int seen = -1;
        for (int turn = 0; turn < 40; ++turn)
            if (chat.turns[turn].measured && chat.layout.top(turn) < top + 400 && chat.layout.bottom(turn) > top)
                seen = turn;
        const int before = seen < 0 ? 0 : chat.layout.bottom(seen) - top;
        const bool is_laid = seen >= 0 && chat.layout.top(seen) > top;
        const auto progress = chat.lay_out(top);
        QVERIFY(progress.done);
        top += progress.moved;
        is_moved |= progress.moved != 0;
        if (is_laid) QCOMPARE(chat.layout.bottom(seen) - top, before);
        QVERIFY(chat.lay_out(top).done);
        top -= 150; // the reader scrolls up
    }
    QVERIFY(is_moved); // otherwise the estimates were right, and nothing was tested
}

void ChatLayoutTest::an_expired_deadline_still_makes_progress()
{
    Chat chat(40);
    int rounds = 0;
    while (!chat.layout.lay_out(0, 400, QDeadlineTimer(0)).done)
        QVERIFY(++rounds < 1000);
    QVERIFY(rounds > 0);
    Chat whole(40);
    QVERIFY(whole.lay_out(0).done);
    for (int turn = 0; whole.layout.top(turn) < 400; ++turn)
        QCOMPARE(chat.layout.top(turn), whole.layout.top(turn));
}

void ChatLayoutTest::only_visible_turns_are_laid_out_and_far_ones_are_forgotten()
{
    Chat chat(1000);
    QVERIFY(chat.lay_out(0).done);
    const auto laid = [&] {
        int count = 0;
        for (int turn = 0; turn < 1000; ++turn)
            count += chat.turns[turn].layout != nullptr;
        return count;
    };
    QVERIFY(laid() > 0 && laid() < 20);
    const int end = chat.layout.height() - 400;
    QVERIFY(chat.lay_out(end).done);
    const uint64_t made = chat.layout.layouts_made();
    const int height = chat.layout.height(), before = laid();
    chat.layout.forget_far(end, end + 400, 800);
    QVERIFY(laid() < before);
    QVERIFY(!chat.turns[0].layout);
    QCOMPARE(chat.layout.height(), height);     // forgotten turns keep their heights
    QCOMPARE(chat.layout.layouts_made(), made); // and still count
}

void ChatLayoutTest::a_hit_finds_the_character_that_was_hit()
{
    Chat chat(10);
    QVERIFY(chat.lay_out(0).done);
    const int body = chat.layout.top(1) + chat.layout.header_height(), left = chat.layout.column_left();
    const auto at = [&](int x, int y) { return chat.layout.hit({x, y}).cursor; };
    QCOMPARE(at(left + 100, chat.layout.top(1) + 1), (ChatCursor{1, {}})); // the header: the beginning
    const ChatCursor first = at(left + 100, body + 2), further = at(left + 200, body + 2);
    QCOMPARE(first.turn, 1);
    QVERIFY(first.place.offset > 0);
    QVERIFY(first < further);
    const int next_line = body + chat.layout.style().line_height * 3 / 2; // fonts have different leading
    QVERIFY(further < at(left + 100, next_line));
    QCOMPARE(at(left + 5, chat.layout.bottom(1) - 1).place, chat.layout.layout_of(1).end());
    QCOMPARE(at(left + 5, -100).turn, 0);
    QCOMPARE(at(left + 5, chat.layout.height() + 100).turn, 9);
}

void ChatLayoutTest::without_turns_nothing_is_hit()
{
    Chat chat(0);
    QCOMPARE(chat.layout.height(), 0);
    QVERIFY(chat.lay_out(0).done);
    QCOMPARE(chat.layout.turn_at(10), 0);
    QCOMPARE(chat.layout.hit({10, 10}).cursor.turn, -1);
}

} // namespace palimpsest::ui

QTEST_MAIN(palimpsest::ui::ChatLayoutTest)
#include "layout_test.moc"
