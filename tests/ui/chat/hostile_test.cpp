// Malicious messages: nothing is loaded, nothing blocks, and the whole text can still be copied.
#include <QApplication>
#include <QClipboard>
#include <QFile>
#include <QMimeData>
#include <QScrollBar>
#include <QTcpServer>
#include <QTemporaryDir>
#include <QTest>
#include <QTextDocument>
#include <functional>
#include <sys/inotify.h>
#include <unistd.h>

#include "kernels/base/sanitized.h"
#include "tests/ui/support/thread_clock.h"
#include "ui/chat/chat_view.h"
#include "ui/chat/composer.h"
#include "ui/chat/question_field.h"

using namespace palimpsest;
using namespace palimpsest::ui;

namespace {

// Limit for one iteration of the event loop; a program with a sanitizer is many times slower.
constexpr double longest_ms = is_sanitized ? 1500 : 100;

Turn answer_of(const QString& text)
{
    Turn turn;
    turn.message = 2;
    turn.role = storage::Role::Assistant;
    turn.text = text;
    return turn;
}

} // namespace

class HostileTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void init();
    void a_hostile_message_is_shown_without_blocking_or_loading_data() { add_messages(); }
    void a_hostile_message_is_shown_without_blocking_or_loading();
    void a_growing_hostile_message_blocks_and_loads_nothing_data() { add_messages(); }
    void a_growing_hostile_message_blocks_and_loads_nothing();
    void the_composer_accepts_no_rich_text();

private:
    void add_messages();
    // Runs `work` as one iteration of the event loop, and keeps the longest time in longest_.
    void timed(const std::function<void()>& work);
    void wait_for_layout(); // until everything is laid out
    void check_nothing_was_loaded();

    QTemporaryDir folder_;
    QTcpServer server_;
    int watch_ = -1;
    double longest_ = 0;
};

void HostileTest::init()
{
    longest_ = 0;
    if (watch_ >= 0) return;
    QVERIFY(server_.listen(QHostAddress::LocalHost));
    const QString file = folder_.filePath(QStringLiteral("secret.png"));
    QFile secret(file);
    QVERIFY(secret.open(QIODevice::WriteOnly));
    secret.write("secret");
    secret.close();
    watch_ = inotify_init1(IN_NONBLOCK);
    QVERIFY(inotify_add_watch(watch_, folder_.path().toLocal8Bit().constData(), IN_OPEN | IN_ACCESS) >= 0);
}

void HostileTest::check_nothing_was_loaded()
{
    char event[4096];
    QVERIFY2(::read(watch_, event, sizeof event) < 0, "a file was opened");
    QVERIFY2(!server_.waitForNewConnection(0), "a connection was made");
}

void HostileTest::timed(const std::function<void()>& work)
{
    const test::ThreadClock clock;
    work();
    longest_ = std::max(longest_, clock.elapsed_ms());
}

void HostileTest::wait_for_layout()
{
    for (int i = 0; i < 50; ++i)
        timed([] { QCoreApplication::processEvents(QEventLoop::AllEvents, 1); });
}

void HostileTest::add_messages()
{
    QTest::addColumn<QString>("text");
    if (!server_.isListening()) init();
    const QString remote = QStringLiteral("http://127.0.0.1:%1/x.png").arg(server_.serverPort());
    const QString file = QStringLiteral("file://") + folder_.filePath(QStringLiteral("secret.png"));
    const auto row = [](const char* name, const QString& text) { QTest::newRow(name) << text; };
    const auto many = [](const char* piece, qsizetype units) {
        const QString one = QString::fromUtf8(piece);
        return one.repeated(units / one.size() + 1);
    };
    constexpr qsizetype mega = 1 << 20;
    QString nested;
    for (int i = 0; i < 1200; ++i)
        nested += QString(2 * i, QLatin1Char(' ')) + QStringLiteral("- item\n");
    row("deep quotes", many(">", 2 * mega) + QStringLiteral(" deep"));
    row("deep quotes on many lines", (QString(3000, QLatin1Char('>')) + QStringLiteral(" x\n")).repeated(200));
    row("deep lists", nested);
    row("deep list in one line", many("- ", mega) + QStringLiteral("x"));
    row("deep emphasis", many("*", mega) + QStringLiteral("x") + many("*", mega));
    row("emphasis that does not close", many("*a **b _c __d ", mega));
    row("brackets that do not close", many("[", mega));
    row("nested links", many("[a](", mega));
    row("images in images", many("![", mega / 8) + QStringLiteral("x") + many("](u)", mega / 4));
    row("remote images", QStringLiteral("![x](%1) ![y](<%1>)\n\n![z][r]\n\n[r]: %1\n\n<img src=\"%1\">\n")
                             .arg(remote)
                             .repeated(300));
    row("data and file images",
        QStringLiteral("![x](%1) ![y](data:image/svg+xml;base64,%2) <img src='%1'> [f](%1)\n")
            .arg(file, many("QUJD", 4000))
            .repeated(30));
    row("scripts and frames",
        QStringLiteral("<script src=\"%1\"></script><iframe src=\"%1\"></iframe><object "
                       "data=\"%2\"></object>\n\n<style>@import url(%1);</style>\n\n<div "
                       "style=\"background:url(%2)\" onload=\"x()\">x</div>\n\n<link rel=stylesheet href=%1><meta "
                       "http-equiv=refresh content='0;url=%1'>\n\n")
            .arg(remote, file)
            .repeated(200));
    row("huge table",
        QStringLiteral("|a|b|c|d|\n|---|---|---|---|\n") + many("|one|two|three|four|\n", 2 * mega - 100));
    row("wide table",
        many("|a", 60000) + QStringLiteral("\n") + many("|---", 120000) + QStringLiteral("\n") + many("|b", 60000));
    row("table of long cells",
        QStringLiteral("|a|b|\n|---|---|\n") +
            QStringLiteral("|%1|%2|\n").arg(many("word ", 3000), many("x", 3000)).repeated(5));
    row("one long line", many("long words without an end ", mega));
    row("one long word", many("x", mega));
    row("short lines", many("a\n", 200000));
    row("short paragraphs", many("a\n\n", 300000));
    row("rules and headings", many("# a\n---\n", mega));
    row("blank lines", many("\n", mega));
    row("fences that do not close", many("```\n~~~\n````x\n", mega));
    row("code of many lines", QStringLiteral("```\n") + many("int x = 1;\n", mega));
    row("code in one line", QStringLiteral("```\n") + many("x=1;", mega));
    row("code spans", many("`a``b", mega));
    row("bidi controls", many("\u202Ea\u2066b\u2069\u200F", mega));
    row("right to left", many("שלום עולם (abc) 123 \u200F", mega));
    row("combining flood", QStringLiteral("a") + many("\u0301\u0302\u0489", mega));
    row("combining in words", many("Z\u0351\u036B\u0343\u036A\u0302\u036B\u033D\u034F\u0334\u0319\u0324a ", mega));
    row("zero width flood", many("\u200B\u200D\uFEFF\u2060", mega));
    row("zero width in words", many("a\u200Bb\u200D", mega));
    row("control characters", many("\x01\x02x\x1b[31m\x7f", mega) + QString(1000, QChar(0)));
    row("lone surrogates", QString(100000, QChar(0xd800)) + QStringLiteral("x") + QString(100000, QChar(0xdc00)));
    row("emoji", many("👩\u200D👩\u200D👧\u200D👦🏳️\u200D🌈", mega / 2));
    row("unassigned and private", many("\uE000\uFDD0\uFFFE\U0010FFFD", mega / 2));
    row("script addresses",
        QStringLiteral("[a](javascript:alert(1)) [b](%1) [c](vbscript:x) [d](https://a.example/%2)\n")
            .arg(file, many("a", 20000))
            .repeated(40));
    row("many links", many("[a](https://a.example) <https://b.example> https://c.example\n", mega));
    row("entities", many("&lt;&#x41;&amp;amp;&#x110000;&#xfffffffff;&unknown;", mega));
    row("entity definitions",
        QStringLiteral("<!DOCTYPE x [<!ENTITY a \"%1\">]>\n").arg(many("&a;", 4000)).repeated(60));
    row("reference definitions", [] {
        QString out;
        for (int i = 0; i < 20000; ++i)
            out += QStringLiteral("[r%1]: https://a.example/%1\n").arg(i);
        return out + QStringLiteral("\n") + QStringLiteral("[r1][r2]").repeated(2000);
    }());
    row("setext and tables", many("a | b\n--- | ---\n===\n---\n", mega));
    row("delimiter rows", many("|---|---|\n", mega));
    row("autolink bait", many("www.a.b@c.d_e-", mega));
    row("angle brackets", many("<a <!-- <? <![CDATA[", mega));
    row("tabs and carriage returns", many("\t\r\ta\r", mega));
}

void HostileTest::a_hostile_message_is_shown_without_blocking_or_loading()
{
    QFETCH(QString, text);
    ChatView view;
    view.resize(800, 700);
    view.show();
    wait_for_layout();
    longest_ = 0;
    timed([&] { view.set_turns({answer_of(text)}); });
    wait_for_layout();
    const int end = view.verticalScrollBar()->maximum();
    for (const int at : {0, end / 3, end / 2, 0, end})
        timed([&, at] {
            view.verticalScrollBar()->setValue(std::min(at, view.verticalScrollBar()->maximum()));
            view.viewport()->repaint();
        }),
            wait_for_layout();
    timed([&] { view.resize(500, 700); });
    wait_for_layout();
    QVERIFY2(longest_ <= longest_ms, qPrintable(QStringLiteral("blocked for %1 ms").arg(longest_)));
    QVERIFY(view.findChildren<QTextDocument*>().isEmpty());
    check_nothing_was_loaded();
    view.perform(0, TurnAction::CopyMarkdown);
    QVERIFY(QGuiApplication::clipboard()->text() == text || text.contains(QChar(0xd800)));
    QVERIFY(view.layouts_made() < 4000);
}

void HostileTest::a_growing_hostile_message_blocks_and_loads_nothing()
{
    QFETCH(QString, text);
    ChatView view;
    view.resize(800, 700);
    view.show();
    wait_for_layout();
    view.begin_answer(QStringLiteral("?"));
    wait_for_layout();
    longest_ = 0;
    for (int step = 1; step <= 12; ++step) {
        const qsizetype length = text.size() * step / 12;
        timed([&] {
            view.grow_answer(text.left(length));
            view.viewport()->repaint();
        });
        wait_for_layout();
    }
    timed([&] { view.end_answer(answer_of(text)); });
    wait_for_layout();
    QVERIFY2(longest_ <= longest_ms, qPrintable(QStringLiteral("blocked for %1 ms").arg(longest_)));
    QVERIFY(view.is_at_end());
    check_nothing_was_loaded();
}

void HostileTest::the_composer_accepts_no_rich_text()
{
    Composer composer;
    composer.show();
    auto* mime = new QMimeData;
    mime->setHtml(
        QStringLiteral("<img src='file://%1'><b>bold</b>").arg(folder_.filePath(QStringLiteral("secret.png"))));
    mime->setText(QStringLiteral("bold"));
    QGuiApplication::clipboard()->setMimeData(mime);
    composer.field()->paste();
    composer.field()->appendHtml(
        QStringLiteral("<img src='file://%1'>").arg(folder_.filePath(QStringLiteral("secret.png"))));
    wait_for_layout();
    QVERIFY(composer.field()->toPlainText().startsWith(QLatin1String("bold")));
    check_nothing_was_loaded();
}

QTEST_MAIN(HostileTest)
#include "hostile_test.moc"
