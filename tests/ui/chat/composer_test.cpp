// The composer: its keys, its queue of waiting questions, and long pastes, which never reach the text field.
#include <QApplication>
#include <QClipboard>
#include <QLabel>
#include <QMimeData>
#include <QSignalSpy>
#include <QTest>
#include <QTextBlock>
#include <QToolButton>
#include <QUrl>

#include "kernels/base/sanitized.h"
#include "tests/ui/support/patience.h"
#include "tests/ui/support/thread_clock.h"
#include "ui/chat/composer.h"
#include "ui/chat/question_field.h"

using namespace palimpsest::ui;

class ComposerTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void enter_or_ctrl_enter_sends_the_question();
    void escape_stops_the_answer_or_ends_an_edit();
    void the_button_sends_or_stops();
    void up_and_down_show_earlier_questions();
    void the_field_grows_with_its_lines_up_to_a_limit();
    void text_that_reads_leftwards_begins_at_the_right();
    void each_paragraph_begins_at_the_side_from_which_it_is_read();
    void a_long_paste_becomes_a_signal();
    void pasted_files_become_a_signal();
    void a_waiting_question_can_be_cancelled();
    void an_early_answer_stands_under_its_question();
};

void ComposerTest::enter_or_ctrl_enter_sends_the_question()
{
    Composer composer;
    composer.show();
    QSignalSpy asked(&composer, &Composer::asked);
    QuestionField* field = composer.field();
    QTest::keyClicks(field, QStringLiteral("one"));
    QTest::keyClick(field, Qt::Key_Return, Qt::ShiftModifier);
    QTest::keyClicks(field, QStringLiteral("two"));
    QCOMPARE(asked.count(), 0);
    QTest::keyClick(field, Qt::Key_Return);
    QCOMPARE(asked.count(), 1);
    QCOMPARE(asked[0][0].toString(), QStringLiteral("one\ntwo"));
    QVERIFY(field->toPlainText().isEmpty());
    QTest::keyClick(field, Qt::Key_Return); // the field is empty: sends nothing
    QCOMPARE(asked.count(), 1);
    composer.set_enter_sends(false);
    QTest::keyClicks(field, QStringLiteral("a"));
    QTest::keyClick(field, Qt::Key_Return);
    QTest::keyClicks(field, QStringLiteral("b"));
    QCOMPARE(asked.count(), 1);
    QTest::keyClick(field, Qt::Key_Enter, Qt::ControlModifier);
    QCOMPARE(asked.count(), 2);
    QCOMPARE(asked[1][0].toString(), QStringLiteral("a\nb"));
    QTest::keyClick(field, Qt::Key_Z, Qt::ControlModifier); // undo brings back the text that was sent
    QCOMPARE(field->toPlainText(), QStringLiteral("a\nb"));
}

void ComposerTest::escape_stops_the_answer_or_ends_an_edit()
{
    Composer composer;
    composer.show();
    QSignalSpy stop(&composer, &Composer::stop_wanted), branched(&composer, &Composer::branched),
        asked(&composer, &Composer::asked);
    QTest::keyClick(composer.field(), Qt::Key_Escape);
    QCOMPARE(stop.count(), 0);
    composer.set_running(true);
    QTest::keyClick(composer.field(), Qt::Key_Escape);
    QCOMPARE(stop.count(), 1);
    composer.edit_question(7, QStringLiteral("old"));
    QTest::keyClick(composer.field(), Qt::Key_Escape);
    QCOMPARE(stop.count(), 1);
    QTest::keyClick(composer.field(), Qt::Key_Return);
    QCOMPARE(branched.count(), 0);
    QCOMPARE(asked.count(), 1);
    composer.edit_question(7, QStringLiteral("old"));
    QTest::keyClicks(composer.field(), QStringLiteral("er"));
    QTest::keyClick(composer.field(), Qt::Key_Return);
    QCOMPARE(branched.count(), 1);
    QCOMPARE(branched[0][0].toLongLong(), 7);
    QCOMPARE(branched[0][1].toString(), QStringLiteral("older"));
}

void ComposerTest::the_button_sends_or_stops()
{
    Composer composer;
    composer.show();
    QSignalSpy stop(&composer, &Composer::stop_wanted), asked(&composer, &Composer::asked);
    auto* button = composer.findChild<QToolButton*>(QString(), Qt::FindDirectChildrenOnly);
    QVERIFY(button && !button->isEnabled());
    QTest::keyClicks(composer.field(), QStringLiteral("x"));
    QVERIFY(button->isEnabled());
    QCOMPARE(button->accessibleName(), QStringLiteral("Send"));
    QTest::mouseClick(button, Qt::LeftButton);
    QCOMPARE(asked.count(), 1);
    composer.set_running(true);
    QCOMPARE(button->accessibleName(), QStringLiteral("Stop"));
    QTest::mouseClick(button, Qt::LeftButton);
    QCOMPARE(stop.count(), 1);
    // A question can be sent while an answer is generated; it is queued.
    QTest::keyClicks(composer.field(), QStringLiteral("y"));
    QTest::keyClick(composer.field(), Qt::Key_Return);
    QCOMPARE(asked.count(), 2);
}

void ComposerTest::up_and_down_show_earlier_questions()
{
    Composer composer;
    composer.show();
    QuestionField* field = composer.field();
    for (const char* question : {"one", "two", "three"}) {
        QTest::keyClicks(field, QLatin1String(question));
        QTest::keyClick(field, Qt::Key_Return);
    }
    QTest::keyClick(field, Qt::Key_Up);
    QCOMPARE(field->toPlainText(), QStringLiteral("three"));
    QTest::keyClick(field, Qt::Key_Up);
    QTest::keyClick(field, Qt::Key_Up);
    QTest::keyClick(field, Qt::Key_Up);
    QCOMPARE(field->toPlainText(), QStringLiteral("one"));
    QTest::keyClick(field, Qt::Key_Down);
    QCOMPARE(field->toPlainText(), QStringLiteral("two"));
    QTest::keyClicks(field, QStringLiteral("!"));
    QTest::keyClick(field, Qt::Key_Up); // an edited text is kept: Up no longer replaces it
    QCOMPARE(field->toPlainText(), QStringLiteral("two!"));
}

void ComposerTest::the_field_grows_with_its_lines_up_to_a_limit()
{
    Composer composer;
    composer.resize(500, 100);
    composer.show();
    QuestionField* field = composer.field();
    const int one = field->height();
    field->replace(QStringLiteral("a\nb\nc"));
    const int three = field->height();
    QVERIFY(three >= one + 2 * field->fontMetrics().height());
    field->replace(QStringLiteral("a\n").repeated(100));
    QVERIFY(field->height() < one + 8 * field->fontMetrics().lineSpacing());
    QVERIFY(field->height() > three);
    field->replace({});
    QCOMPARE(field->height(), one);
}

void ComposerTest::text_that_reads_leftwards_begins_at_the_right()
{
    Composer composer;
    composer.resize(600, 100);
    composer.show();
    QuestionField* field = composer.field();
    const auto cursor_is_at_the_right = [&] {
        return field->cursorRect().center().x() > field->viewport()->width() / 2;
    };
    QTest::keyClicks(field, QStringLiteral("sea"));
    QVERIFY(!cursor_is_at_the_right());
    field->replace(QString::fromUtf8("\u05e1\u05e4\u05e8"));
    QVERIFY(cursor_is_at_the_right());
    field->replace({});
    QVERIFY(!cursor_is_at_the_right());
}

void ComposerTest::each_paragraph_begins_at_the_side_from_which_it_is_read()
{
    Composer composer;
    composer.resize(600, 300);
    composer.show();
    QuestionField* field = composer.field();
    const QString hebrew = QString::fromUtf8("\u05e1\u05e4\u05e8"), english = QStringLiteral("sea");
    const auto is_at_the_right = [&](int paragraph) {
        field->setTextCursor(QTextCursor(field->document()->findBlockByNumber(paragraph)));
        return field->cursorRect().center().x() > field->viewport()->width() / 2;
    };
    const auto sides = [&] {
        QString all;
        for (int paragraph = 0; paragraph < field->blockCount(); ++paragraph)
            all += QLatin1Char(is_at_the_right(paragraph) ? 'R' : 'L');
        return all;
    };
    field->replace(QStringList{english, hebrew, QStringLiteral("12"), QString(), english}.join(QLatin1Char('\n')));
    QCOMPARE(sides(), QStringLiteral("LRRRL"));
    QTextCursor cursor(field->document()->firstBlock());
    cursor.insertText(hebrew + QLatin1Char(' '));
    QCOMPARE(sides(), QStringLiteral("RRRRL"));
    composer.resize(400, 300); // which lays all paragraphs out again
    QCOMPARE(sides(), QStringLiteral("RRRRL"));
    // What is painted is where the cursor is.
    const QImage shown = field->viewport()->grab().toImage();
    const auto inked = [&](int paragraph, bool right) {
        field->setTextCursor(QTextCursor(field->document()->findBlockByNumber(paragraph)));
        const QRect line = field->cursorRect();
        const int half = shown.width() / 2;
        for (int y = line.top(); y < line.bottom(); ++y)
            for (int x = right ? half + 4 : 4; x < (right ? shown.width() - 4 : half - 4); ++x)
                if (qGray(shown.pixel(x, y)) < 128) return true;
        return false;
    };
    QVERIFY(inked(2, true) && !inked(2, false));
    QVERIFY(inked(4, false) && !inked(4, true));
}

void ComposerTest::a_long_paste_becomes_a_signal()
{
    Composer composer;
    composer.show();
    QSignalSpy pasted(&composer, &Composer::text_pasted);
    QuestionField* field = composer.field();
    const auto paste = [&](const QString& text) {
        QGuiApplication::clipboard()->setText(text);
        field->paste();
    };
    paste(QStringLiteral("short"));
    QCOMPARE(field->toPlainText(), QStringLiteral("short"));
    paste(QString(20000, QLatin1Char('x')));
    QCOMPARE(pasted.count(), 0);
    field->replace({});
    paste(QString(20001, QLatin1Char('x')));
    QCOMPARE(pasted.count(), 1);
    paste(QStringLiteral("a\n").repeated(200));
    QCOMPARE(pasted.count(), 2);
    QVERIFY(field->toPlainText().isEmpty());
    const QString book = QStringLiteral("word ").repeated(500000);
    QGuiApplication::clipboard()->setText(book);
    const test::ThreadClock clock;
    field->paste();
    QCoreApplication::processEvents();
    QVERIFY2(clock.elapsed_ms() <= (palimpsest::is_sanitized ? 1000 : 50),
             qPrintable(QString::number(clock.elapsed_ms())));
    QCOMPARE(pasted.count(), 3);
    QCOMPARE(pasted[2][0].toString(), book);
    QVERIFY(field->toPlainText().isEmpty());
}

void ComposerTest::pasted_files_become_a_signal()
{
    Composer composer;
    composer.show();
    QSignalSpy dropped(&composer, &Composer::files_dropped);
    auto* mime = new QMimeData;
    mime->setUrls({QUrl::fromLocalFile(QStringLiteral("/a/book.epub")), QUrl(QStringLiteral("https://a.example"))});
    QGuiApplication::clipboard()->setMimeData(mime);
    composer.field()->paste();
    QCOMPARE(dropped.count(), 1);
    QCOMPARE(dropped[0][0].toStringList(), QStringList{QStringLiteral("/a/book.epub")});
    QVERIFY(composer.field()->toPlainText().isEmpty());
}

void ComposerTest::a_waiting_question_can_be_cancelled()
{
    Composer composer;
    composer.resize(500, 300);
    composer.show();
    QSignalSpy cancel(&composer, &Composer::cancel_wanted);
    for (quint64 id = 1; id <= 5; ++id)
        composer.add_waiting(id, QStringLiteral("Question %1").arg(id));
    const QList<Chip*> chips = composer.findChildren<Chip*>();
    QCOMPARE(chips.size(), 5);
    QCOMPARE(std::count_if(chips.begin(), chips.end(), [](const Chip* chip) { return chip->isVisible(); }), 3);
    QVERIFY(chips[0]->text().contains(QLatin1String("Waits its turn: Question 1")));
    auto* cross = chips[1]->findChild<QToolButton*>();
    cross->setFocus();
    QTest::keyClick(cross, Qt::Key_Space);
    QCOMPARE(cancel.count(), 1);
    QCOMPARE(cancel[0][0].toULongLong(), 2u);
    composer.remove_waiting(2);
    QVERIFY(composer.waiting(2).isEmpty());
    QVERIFY(chips[3]->isVisible());
}

void ComposerTest::an_early_answer_stands_under_its_question()
{
    Composer composer;
    composer.resize(500, 300);
    composer.show();
    composer.add_waiting(1, QStringLiteral("Who kept the light?"));
    composer.add_waiting(2, QStringLiteral("Who painted the door?"));
    const QList<Chip*> chips = composer.findChildren<Chip*>();
    const int height = chips[1]->sizeHint().height();
    composer.show_early_answer(7, {.text = QStringLiteral("Nobody"), .quote = {}, .place = {}, .share = 0.5});
    composer.show_early_answer(2, {.text = QStringLiteral("Tobias\u202E\ndid."),
                                   .quote = QStringLiteral("Tobias painted the door."),
                                   .place = QStringLiteral("Chapter II"),
                                   .share = 0.43});
    QVERIFY(test::eventually([&] { return chips[1]->sizeHint().height() > height; }));
    QString shown;
    for (const QLabel* label : chips[1]->findChildren<QLabel*>())
        shown += label->text() + QLatin1Char('\n');
    QVERIFY2(shown.contains(QLatin1String("From the 43 % read so far: Tobias")), qPrintable(shown));
    QVERIFY2(shown.contains(QLatin1String("(Chapter II)")), qPrintable(shown));
    QVERIFY(!shown.contains(QChar(0x202E)));
    composer.show_early_answer(2, {.text = QStringLiteral("Tobias."), .quote = {}, .place = {}, .share = 0.5});
    QCOMPARE(chips[1]->findChildren<QLabel*>().size(), 2);
    QCOMPARE(chips[0]->findChildren<QLabel*>().size(), 1);
}

QTEST_MAIN(ComposerTest)
#include "composer_test.moc"
