// Markdown is parsed into the expected blocks, without anything that hides, loads or runs. A growing text always
// gives the same blocks as the whole text parsed at once.
#include <QImage>
#include <QPainter>
#include <QRandomGenerator>
#include <QTest>

#include "ui/base/visible_text.h"
#include "ui/chat/message.h"
#include "ui/chat/message_layout.h"

using namespace palimpsest::ui;

namespace {

// Writes one line per block: containers, kind, texts. Styles: *bold*, _italic_, `code`, ~struck~, [text](address).
QString drawn(const InlineText& text, const QStringList& links)
{
    QString out;
    int at = 0;
    for (const Span& span : text.spans) {
        out += QStringView(text.text).mid(at, span.start - at);
        QString part = text.text.mid(span.start, span.length);
        const auto wrap = [&](TextStyle style, QChar mark) {
            if (span.styles & static_cast<uint8_t>(style)) part = mark + part + mark;
        };
        wrap(TextStyle::Bold, QLatin1Char('*'));
        wrap(TextStyle::Italic, QLatin1Char('_'));
        wrap(TextStyle::Code, QLatin1Char('`'));
        wrap(TextStyle::Struck, QLatin1Char('~'));
        if (span.link >= 0) part = QStringLiteral("[%1](%2)").arg(part, links[span.link]);
        out += part;
        at = span.start + span.length;
    }
    out += text.text.mid(at);
    return out.replace(QChar::LineSeparator, QLatin1Char('/'));
}

QString drawn(const std::vector<Block>& blocks)
{
    static const char* const kinds[] = {"p", "h", "code", "table", "rule", "note"};
    QStringList lines;
    for (const Block& block : blocks) {
        QString line;
        for (const Around& around : block.around)
            line += around.quote              ? QStringLiteral("> ")
                    : around.marker.isEmpty() ? QStringLiteral("  ")
                                              : around.marker + QLatin1Char(' ');
        line += QLatin1String(kinds[static_cast<int>(block.kind)]);
        if (block.kind == Block::Kind::Heading) line += QString::number(block.level);
        if (!block.language.isEmpty()) line += QLatin1Char('=') + block.language;
        QStringList texts;
        for (const InlineText& text : block.texts)
            texts += drawn(text, block.links);
        if (!texts.isEmpty()) line += QStringLiteral(": ") + texts.join(QStringLiteral(" | "));
        lines += line;
    }
    return lines.join(QLatin1Char('\n'));
}

std::vector<Block> blocks_of(const Message& message)
{
    std::vector<Block> out;
    for (size_t i = 0; i < message.segments().size(); ++i)
        for (Block& block : message.blocks(i))
            out.push_back(std::move(block));
    return out;
}

QString rich_sample()
{
    QString out;
    for (int i = 0; i < 12; ++i)
        out += QStringLiteral(
                   "# Part %1\r\n\nA paragraph with *some* **marks**, `code` and a "
                   "[link](https://example.org/%1).\nIt has two lines.\n\n"
                   "- one\n- two\n\n  more of two\n  ```\n  inner\n\n  fence\n  ```\n\n1. first\n\n1. second\n\n"
                   "> quoted\n> > twice\n\n```cpp\nint x = %1;\n\nint y;\n```\nText after.\n\n"
                   "| a | b |\n|---|:-:|\n| 1 | 2 |\n\nSetext\n---\n\n~~~\nopen and shut\n~~~\n\n"
                   "[ref]: https://example.org/ref\n\nUse of [ref].\n\n")
                   .arg(i);
    return out + QStringLiteral("```\nnever shut\n") + QString(9000, QLatin1Char('x')) + QStringLiteral("\nend");
}

} // namespace

class MarkdownTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void markdown_is_parsed_into_the_expected_blocks_data();
    void markdown_is_parsed_into_the_expected_blocks();
    void invisible_characters_become_visible();
    void addresses_mark_look_alike_characters();
    void text_beyond_a_limit_stays_plain_below_a_note();
    void a_growing_text_gives_the_blocks_of_the_whole_text();
    void a_growing_text_lays_out_only_new_blocks();
    void a_selection_gives_its_text_and_its_source();
    void bars_and_markers_of_right_to_left_text_are_at_the_right();
};

void MarkdownTest::markdown_is_parsed_into_the_expected_blocks_data()
{
    QTest::addColumn<QString>("source");
    QTest::addColumn<QString>("expected");
    const auto row = [](const char* name, const char* source, const char* expected) {
        QTest::newRow(name) << QString::fromUtf8(source) << QString::fromUtf8(expected);
    };
    row("paragraphs", "one\ntwo\n\nthree  \nfour", "p: one two\np: three/four");
    row("headings", "# One\n\nTwo\n===\n\n### Three", "h1: One\nh1: Two\nh3: Three");
    row("inline", "*a* **b** ***c*** `d` ~~e~~", "p: _a_ *b* _*c*_ `d` ~e~");
    row("lists", "- a\n- b\n  1. c\n  2. d\n\n7) e", "• p: a\n• p: b\n  1. p: c\n  2. p: d\n7) p: e");
    row("item of two paragraphs", "- a\n\n  b", "• p: a\n  p: b");
    row("empty item", "- \n- b", "• p: \n• p: b");
    row("tasks", "- [x] done\n- [ ] open", "☑ p: done\n☐ p: open");
    row("quotes", "> a\n>\n> > b\n> - c", "> p: a\n> > p: b\n> • p: c");
    row("code", "```py\nx = 1\n\n<b>\n```", "code=py: x = 1//<b>");
    row("code in an item", "- a\n  ```\n  b\n  ```", "• p: a\n  code: b");
    row("table", "| a | b |\n|---|--:|\n| *1* | 2 |\n| 3 |", "table: a | b | _1_ | 2 | 3 | ");
    row("rule", "a\n\n***\n\nb", "p: a\nrule\np: b");
    row("link", "[text](https://a.example/?x=1&amp;y=2 \"title\")", "p: [text](https://a.example/?x=1&y=2)");
    row("bare address", "see https://a.example/b now", "p: see [https://a.example/b](https://a.example/b) now");
    row("mail", "<x@a.example>", "p: [x@a.example](mailto:x@a.example)");
    row("script address", "[text](javascript:alert(1))", "p: text (javascript:alert(1))");
    row("file address", "[text](file:///etc/passwd)", "p: text (file:///etc/passwd)");
    row("relative address", "[text](../x)", "p: text (../x)");
    row("image", "![a *map*](https://a.example/x.png)", "p: [image: a _map_ (https://a.example/x.png)]");
    row("image in a link", "[![m](data:image/png;base64,AA)](https://b.example)",
        "p: [[image: m (data:image/png;base64,AA)]](https://b.example)");
    row("HTML block", "<script>\nalert(1)\n</script>", "p: <script> alert(1) </script>");
    row("HTML inline", "a <b onclick=\"x()\">b</b>", "p: a <b onclick=\"x()\">b</b>");
    row("entities", "&lt;b&gt; &#65; &#x42; &unknown;", "p: <b> A B &unknown;");
    row("entities that hide", "&#x202e; &#0; &#x300;", "p: &#x202e; &#0; &#x300;");
    row("definitions alone", "[a]: https://a.example", "p: [a]: https://a.example");
    row("nothing", "", "");
}

void MarkdownTest::markdown_is_parsed_into_the_expected_blocks()
{
    QFETCH(QString, source);
    Message message;
    message.set_text(source, Message::Format::Markdown);
    QTEST(drawn(blocks_of(message)), "expected");
}

void MarkdownTest::invisible_characters_become_visible()
{
    QCOMPARE(visible_text(u"plain, naïve\ttext\n"), QStringLiteral("plain, naïve\ttext\n"));
    QCOMPARE(visible_text(u"a\u202Eb"), QStringLiteral("a⟨U+202E⟩b"));
    QCOMPARE(visible_text(QString(QChar(0)) + QStringLiteral("\x07x\u009b")),
             QStringLiteral("⟨U+0000⟩⟨U+0007⟩x⟨U+009B⟩"));
    // Some scripts need these joiners.
    QCOMPARE(visible_text(u"👩\u200D💻 ب\u200Cا"), QStringLiteral("👩\u200D💻 ب\u200Cا"));
    QVERIFY(visible_text(QString(1000, QChar(0x200b))).size() < 60);
    QVERIFY(visible_text(QStringLiteral("a") + QString(1000, QChar(0x301))).size() < 60);
    QVERIFY(visible_text(QStringLiteral("\U000E0041\U000E0042")).contains(QLatin1String("U+E0041")));
    QVERIFY(visible_text(QString(QChar(0xd800))).contains(QLatin1String("U+D800")));
    const QString once =
        visible_text(QStringLiteral("a\u202Eb\u2066") + QString(99, QChar(0x301)) + QString(99, QChar(1)));
    QCOMPARE(visible_text(once), once);
}

void MarkdownTest::addresses_mark_look_alike_characters()
{
    QCOMPARE(visible_address(u"https://example.org/a-b?c=d#e"), QStringLiteral("https://example.org/a-b?c=d#e"));
    QCOMPARE(visible_address(u"https://p\u0430ypal.com"), QStringLiteral("https://p\u0430⟨U+0430⟩ypal.com"));
    QCOMPARE(visible_address(u"https://a\u2215b"), QStringLiteral("https://a\u2215⟨U+2215⟩b"));
    QCOMPARE(visible_address(u"https://a\u200Bb\u202E"), QStringLiteral("https://a⟨U+200B⟩b⟨U+202E⟩"));
    QCOMPARE(visible_address(u"https://例え.jp/é"), QStringLiteral("https://例え.jp/é"));
}

void MarkdownTest::text_beyond_a_limit_stays_plain_below_a_note()
{
    const auto check = [](const QString& source) {
        const std::vector<Block> blocks = parse_markdown(source);
        QVERIFY(blocks.size() >= 2);
        QCOMPARE(blocks[0].kind, Block::Kind::Note);
        QString text;
        for (size_t i = 1; i < blocks.size(); ++i) {
            if (i > 1 && !blocks[i].joins) text += QLatin1Char('\n');
            text += text_of(blocks[i]);
        }
        QCOMPARE(text, source);
    };
    check(QString(100, QLatin1Char('>')) + QStringLiteral(" deep"));
    check(QStringLiteral("a\n\n").repeated(3000) + QStringLiteral("end"));
    check(QStringLiteral("|a").repeated(40) + QLatin1Char('\n') + QStringLiteral("|---").repeated(40));
    check(QStringLiteral("<https://a.example> ").repeated(600) + QStringLiteral("end"));
    check(QStringLiteral("|a|b|\n|---|---|\n") + QStringLiteral("|1|2|\n").repeated(6000) +
          QStringLiteral("|3|4|"));
    const QString far = QStringLiteral("[x](https://a.example/%1)").arg(QString(3000, QLatin1Char('a')));
    QVERIFY(parse_markdown(far).front().links.isEmpty());
}

void MarkdownTest::a_growing_text_gives_the_blocks_of_the_whole_text()
{
    const QString whole = rich_sample();
    const quint32 seed = QRandomGenerator::global()->generate();
    QRandomGenerator random(seed);
    for (int run = 0; run < 4; ++run) {
        Message growing;
        for (qsizetype length = 0; length < whole.size();) {
            length = std::min<qsizetype>(whole.size(), length + random.bounded(1, run == 0 ? 40 : 900));
            const QString prefix = whole.left(length);
            growing.set_text(prefix, Message::Format::Markdown);
            Message fresh;
            fresh.set_text(prefix, Message::Format::Markdown);
            QVERIFY2(growing.segments() == fresh.segments(),
                     qPrintable(QStringLiteral("seed %1, length %2").arg(seed).arg(length)));
            QVERIFY2(blocks_of(growing) == blocks_of(fresh),
                     qPrintable(QStringLiteral("seed %1, length %2").arg(seed).arg(length)));
        }
        QCOMPARE(growing.text(), whole);
    }
}

void MarkdownTest::a_growing_text_lays_out_only_new_blocks()
{
    const QString whole =
        QStringLiteral("A paragraph of some words that goes on for a line or two, so that it wraps.\n\n")
            .repeated(200);
    const MessageStyle style = MessageStyle::of(QFont(), QPalette());
    MessageLayout layout;
    layout.set_geometry(style, 600);
    int steps = 0;
    for (qsizetype length = 20; length < whole.size(); length += 20, ++steps) {
        layout.set_text(whole.left(length), Message::Format::Markdown);
        int moved = 0;
        layout.lay_out(0, 1 << 24, QDeadlineTimer(QDeadlineTimer::Forever), &moved);
    }
    // Each step lays out the block that grew; a block is laid out again only as the last one of its segment.
    QVERIFY2(layout.layouts_made() < static_cast<uint64_t>(steps) + 2 * 200,
             qPrintable(QString::number(layout.layouts_made())));
}

void MarkdownTest::a_selection_gives_its_text_and_its_source()
{
    const QString source = QStringLiteral(
        "# Head\n\nSome *text* here.\n\n- one\n- two\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```c\nint x;\n```\n");
    MessageLayout layout;
    layout.set_text(source, Message::Format::Markdown);
    QCOMPARE(layout.text_between(layout.begin(), layout.end()),
             QStringLiteral("Head\n\nSome text here.\n\n• one\n• two\n\na\tb\n1\t2\n\nint x;"));
    QCOMPARE(layout.source_between(layout.begin(), layout.end()), source);
    QCOMPARE(layout.text_between({0, 1, 5}, {0, 1, 9}), QStringLiteral("text"));
    QCOMPARE(layout.source_between({0, 1, 5}, {0, 1, 9}), QStringLiteral("Some *text* here.\n"));
    QCOMPARE(layout.source_between({0, 2, 1}, {0, 3, 1}), QStringLiteral("- one\n- two\n"));
    QCOMPARE(layout.code_at({1, 0, 0}), QStringLiteral("int x;\n"));
}

void MarkdownTest::bars_and_markers_of_right_to_left_text_are_at_the_right()
{
    const MessageStyle style = MessageStyle::of(QFont(), QPalette());
    const int width = 600;
    const auto painted = [&](const QString& source) {
        MessageLayout layout;
        layout.set_geometry(style, width);
        layout.set_text(source, Message::Format::Markdown);
        int moved = 0;
        layout.lay_out(0, 1 << 24, QDeadlineTimer(QDeadlineTimer::Forever), &moved);
        QImage image(width, layout.height(), QImage::Format_RGB32);
        image.fill(Qt::white);
        QPainter painter(&image);
        layout.paint(painter, 0, image.height(), nullptr);
        return image;
    };
    const auto has_ink = [&](const QImage& image, int left, int right, int top = 0) {
        for (int x = left; x < right; ++x)
            for (int y = top; y < image.height(); ++y)
                if (image.pixel(x, y) != qRgb(255, 255, 255)) return true;
        return false;
    };
    const auto indent = static_cast<int>(style.indent);
    for (const char* begin : {"> ", "- ", "7. "}) {
        const QImage leftwards = painted(QString(begin) + QString::fromUtf8("\u05e1\u05e4\u05e8"));
        QVERIFY(!has_ink(leftwards, 0, width / 2));
        QVERIFY(has_ink(leftwards, width - indent, width));
        const QImage rightwards = painted(QString(begin) + "sea");
        QVERIFY(has_ink(rightwards, 0, indent));
        QVERIFY(!has_ink(rightwards, width / 2, width));
    }
    const QString hebrew = QString::fromUtf8("\u05e1\u05e4\u05e8"), sea = QStringLiteral("sea");
    for (const QString& below :
         {QStringLiteral("\n\n  ```\n  1\n  ```\n"), QStringLiteral("\n\n  |1|2|\n  |---|---|\n  |3|4|\n")}) {
        const bool is_table = below.contains(u'|');
        const QImage leftwards = painted("- " + hebrew + below), rightwards = painted("- " + sea + below);
        const int top = leftwards.height() / 2;
        QVERIFY(!has_ink(leftwards, width - indent + 2, width, top));
        QVERIFY(has_ink(leftwards, width - 2 * indent, width - indent, top));
        QCOMPARE(has_ink(leftwards, 0, indent, top), !is_table);
        QVERIFY(!has_ink(rightwards, 0, indent, top));
        QVERIFY(has_ink(rightwards, indent, 2 * indent, top));
    }
}

QTEST_MAIN(MarkdownTest)
#include "markdown_test.moc"
