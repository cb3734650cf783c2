// Lines and paragraphs of text in scripts of both directions, whatever fonts the machine has.
#include "ui/base/line_text.h"

#include <QImage>
#include <QTest>
#include <QTextLayout>

using namespace palimpsest::ui;

namespace {

constexpr QSize wide(600, 40);
const QString mixed = QStringLiteral("\u05D0\u05D1\u05D2 xyz");

QImage drawn(const QString& text, Qt::LayoutDirection direction, int width = wide.width())
{
    QImage image(wide, QImage::Format_RGB32);
    image.fill(Qt::white);
    QPainter painter(&image);
    painter.setPen(Qt::black);
    draw_line_text(painter, QRect(0, 0, width, wide.height()), text, direction);
    return image;
}

// The first and the last column that is not white; -1 if there is none.
std::pair<int, int> inked(const QImage& image)
{
    std::pair<int, int> columns(-1, -1);
    for (int x = 0; x < image.width(); ++x)
        for (int y = 0; y < image.height(); ++y)
            if (image.pixel(x, y) != qRgb(255, 255, 255)) columns = {columns.first < 0 ? x : columns.first, x};
    return columns;
}

} // namespace

class LineTextTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void a_line_reads_in_the_direction_of_its_first_letter()
    {
        // The Hebrew letters, which come first, are at the right of the others.
        const QImage line = drawn(mixed, Qt::LeftToRight), last = drawn(QStringLiteral("xyz"), Qt::LeftToRight);
        const int width = inked(last).second + 1;
        QVERIFY(width > 1);
        QCOMPARE(line.copy(0, 0, width, wide.height()), last.copy(0, 0, width, wide.height()));
        QVERIFY(inked(line).second > width);
    }

    void a_line_begins_at_the_edge_of_the_window()
    {
        for (const QString& text : {mixed, QStringLiteral("xyz"), QStringLiteral("\u4E2D\u6587")}) {
            QVERIFY(inked(drawn(text, Qt::LeftToRight)).second < wide.width() / 2);
            QVERIFY(inked(drawn(text, Qt::RightToLeft)).first > wide.width() / 2);
        }
    }

    void a_line_that_does_not_fit_stays_within_its_width()
    {
        for (const QString& text : {mixed, QStringLiteral("\u4E2D\u6587")}) {
            const auto [first, last] = inked(drawn(text.repeated(50), Qt::LeftToRight, 200));
            QVERIFY(first >= 0 && last < 200);
        }
    }

    void characters_stay_whole()
    {
        const QString family = QStringLiteral("\U0001F468\u200D\U0001F469\u200D\U0001F467");
        const QString text = QStringLiteral("a") + family + QStringLiteral("e\u0301x");
        for (qsizetype length = 1; length <= family.size(); ++length)
            QCOMPARE(leading_characters(text, length), QStringLiteral("a"));
        QCOMPARE(leading_characters(text, 1 + family.size()), QStringLiteral("a") + family);
        QCOMPARE(leading_characters(text, 2 + family.size()), QStringLiteral("a") + family);
        QCOMPARE(leading_characters(text, 3 + family.size()), text.chopped(1));
        QCOMPARE(leading_characters(text, 100), text);
    }

    void a_paragraph_begins_at_the_side_of_its_script_and_breaks_without_spaces()
    {
        for (const QString& text :
             {QStringLiteral("\u4E2D\u6587").repeated(100), QStringLiteral("\u05D0\u05D1\u05D2 ").repeated(100)}) {
            QTextLayout layout(text);
            layout.setTextOption(paragraph_option(text));
            layout.beginLayout();
            for (QTextLine line = layout.createLine(); line.isValid(); line = layout.createLine())
                line.setLineWidth(200);
            layout.endLayout();
            QVERIFY(layout.lineCount() > 2);
            for (int i = 0; i + 1 < layout.lineCount(); ++i)
                QVERIFY(layout.lineAt(i).naturalTextWidth() <= 200);
            const QTextLine last = layout.lineAt(layout.lineCount() - 1);
            const double begin = last.cursorToX(last.textStart());
            QCOMPARE(begin > 100, text.isRightToLeft());
        }
    }
};

QTEST_MAIN(LineTextTest)
#include "line_text_test.moc"
