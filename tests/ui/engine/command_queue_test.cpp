// The command queue, and the questions in it that are answered early, without the engine thread.
#include <QTest>
#include <algorithm>
#include <thread>

#include "ui/engine/command_queue.h"
#include "ui/engine/early_questions.h"

namespace palimpsest::ui {

class CommandQueueTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void commands_run_in_order();
    void a_waiting_command_can_be_cancelled();
    void cancelling_stops_the_running_command_and_no_waiting_one();
    void cancel_all_stops_running_and_waiting_commands();
    void a_short_command_may_interleave();
    void a_command_that_may_not_interleave_yet_keeps_its_place();
    void a_stopped_command_may_continue_until_it_is_stopped_again();
    void a_closed_queue_ends_once_it_is_empty();
    void early_questions_are_tried_at_once_and_then_now_and_again();
    void a_question_waits_behind_questions_or_behind_what_changes_the_session();
};

namespace {

Command nothing()
{
    return {.work = [](std::stop_token) {}};
}

} // namespace

void CommandQueueTest::commands_run_in_order()
{
    CommandQueue queue;
    QVERIFY(queue.is_idle());
    const CommandId first = queue.push(nothing()), second = queue.push(nothing());
    QVERIFY(first != second);
    QCOMPARE(queue.waiting(), 2);
    QCOMPARE(queue.next()->id, first);
    queue.finish();
    QVERIFY(!queue.is_idle());
    QCOMPARE(queue.next()->id, second);
    QVERIFY(!queue.is_idle());
    queue.finish();
    QVERIFY(queue.is_idle());
}

void CommandQueueTest::a_waiting_command_can_be_cancelled()
{
    CommandQueue queue;
    const CommandId first = queue.push(nothing()), second = queue.push(nothing());
    QVERIFY(queue.cancel(first));
    QVERIFY(!queue.cancel(first));
    QCOMPARE(queue.next()->id, second);
}

void CommandQueueTest::cancelling_stops_the_running_command_and_no_waiting_one()
{
    CommandQueue queue;
    const CommandId first = queue.push(nothing());
    queue.push(nothing());
    const auto running = queue.next();
    QVERIFY(!running->stop.stop_requested());
    QVERIFY(!queue.cancel(first)); // false: it already runs
    QVERIFY(running->stop.stop_requested());
    queue.finish();
    queue.stop_running(); // nothing runs
    QVERIFY(!queue.next()->stop.stop_requested());
}

void CommandQueueTest::cancel_all_stops_running_and_waiting_commands()
{
    CommandQueue queue;
    queue.push(nothing());
    const auto running = queue.next();
    const CommandId second = queue.push(nothing()), third = queue.push(nothing());
    QCOMPARE(queue.cancel_all(), (std::vector<CommandId>{second, third}));
    QVERIFY(running->stop.stop_requested());
    queue.finish();
    QVERIFY(queue.is_idle());
}

void CommandQueueTest::a_short_command_may_interleave()
{
    CommandQueue queue;
    queue.push(nothing());
    const auto running = queue.next();
    queue.push(nothing());
    const CommandId quick = queue.push({.work = [](std::stop_token) {}, .may_interleave = [] { return true; }});
    QCOMPARE(queue.take_interleaved()->id, quick);
    QVERIFY(!queue.take_interleaved());
    QCOMPARE(queue.waiting(), 1);
}

void CommandQueueTest::a_command_that_may_not_interleave_yet_keeps_its_place()
{
    CommandQueue queue;
    bool may = false;
    queue.push(nothing());
    const auto running = queue.next();
    const CommandId first = queue.push({.work = [](std::stop_token) {}, .may_interleave = [&] { return may; }});
    const CommandId second = queue.push(nothing());
    QVERIFY(!queue.take_interleaved());
    queue.finish();
    QCOMPARE(queue.next()->id, first);
    queue.finish();
    QCOMPARE(queue.next()->id, second);
    const CommandId third = queue.push({.work = [](std::stop_token) {}, .may_interleave = [&] { return may; }});
    may = true;
    QCOMPARE(queue.take_interleaved()->id, third);
}

void CommandQueueTest::a_stopped_command_may_continue_until_it_is_stopped_again()
{
    CommandQueue queue;
    const CommandId first = queue.push(nothing());
    const auto running = queue.next();
    queue.stop_running();
    QVERIFY(running->stop.stop_requested());
    const std::stop_token again = queue.renew_stop();
    QVERIFY(!again.stop_requested());
    queue.cancel(first);
    QVERIFY(again.stop_requested());
    const std::stop_token last = queue.renew_stop();
    queue.cancel_all();
    QVERIFY(last.stop_requested());
    QVERIFY(queue.renew_stop().stop_requested());
    queue.finish();
    queue.push(nothing());
    QVERIFY(!queue.next()->stop.stop_requested());
    QVERIFY(!queue.renew_stop().stop_requested());
}

void CommandQueueTest::a_closed_queue_ends_once_it_is_empty()
{
    CommandQueue queue;
    bool has_ended = false;
    std::thread waits([&] { has_ended = !queue.next(); });
    queue.close();
    waits.join();
    QVERIFY(has_ended);
    queue.push(nothing());
    QVERIFY(!queue.next());
}

void CommandQueueTest::early_questions_are_tried_at_once_and_then_now_and_again()
{
    EarlyQuestions questions;
    std::vector<CommandId> waiting = {1, 2, 3};
    const auto waits = [&](CommandId id) { return std::find(waiting.begin(), waiting.end(), id) != waiting.end(); };
    const auto next = [&](uint64_t tokens) {
        const auto question = questions.next(tokens, waits);
        return question ? question->id : 0;
    };
    QCOMPARE(next(0), CommandId{0});
    questions.add(1, QStringLiteral("One?"));
    questions.add(2, QStringLiteral("Two?"));
    QCOMPARE(next(1000), CommandId{1});
    QCOMPARE(next(1000), CommandId{2});
    QCOMPARE(next(3000), CommandId{0});
    QCOMPARE(next(3048), CommandId{1});
    questions.forget(1);
    QCOMPARE(next(100'000), CommandId{2});
    QCOMPARE(next(124'999), CommandId{0});
    QCOMPARE(next(125'000), CommandId{2});
    questions.add(3, QStringLiteral("Three?"));
    waiting = {3}; // the second was taken back
    QCOMPARE(questions.next(125'000, waits)->text, QStringLiteral("Three?"));
}

void CommandQueueTest::a_question_waits_behind_questions_or_behind_what_changes_the_session()
{
    CommandQueue queue;
    const auto ask = [&] {
        Command question = nothing();
        question.is_question = true;
        return queue.push(std::move(question));
    };
    const CommandId first = ask();
    Command shorter = nothing();
    shorter.may_interleave = [] { return true; };
    queue.push(std::move(shorter));
    const CommandId second = ask(), other = queue.push(nothing()), third = ask();
    QVERIFY(queue.waits_behind_questions(first));
    QVERIFY(queue.waits_behind_questions(second));
    QVERIFY(!queue.waits_behind_questions(third)); // perhaps about another session
    queue.cancel(other);
    QVERIFY(queue.waits_behind_questions(third));
    queue.cancel(second);
    QVERIFY(!queue.waits_behind_questions(second));
}

} // namespace palimpsest::ui

QTEST_GUILESS_MAIN(palimpsest::ui::CommandQueueTest)
#include "command_queue_test.moc"
