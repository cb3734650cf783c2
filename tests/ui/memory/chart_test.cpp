// The chart: its ticks, its crosshair with keys and mouse, its table and its colours.

#include <QAbstractItemModelTester>
#include <QAccessible>
#include <QDialog>
#include <QSignalSpy>
#include <QTableView>
#include <QTest>

#include "tests/ui/support/looks.h"
#include "tests/ui/support/patience.h"
#include "ui/base/chart.h"
#include "ui/base/chart_table.h"
#include "ui/base/quantity.h"
#include "ui/base/table_text.h"
#include "ui/base/theme.h"

using namespace palimpsest::ui;

namespace {

QString plain(double value)
{
    return QString::number(value);
}

std::unique_ptr<Chart> chart_of_two()
{
    auto chart = std::make_unique<Chart>(QStringLiteral("Two lines"));
    chart->set_axes({.title = QStringLiteral("Tokens"), .text = plain},
                    {.title = QStringLiteral("Value"), .text = plain});
    chart->set_lines({{QStringLiteral("a"), {{0, 5}, {10, 6}, {20, 7}}, 0},
                      {QStringLiteral("b"), {{0, 1}, {20, 2}, {30, 3}}, 1}});
    chart->resize(600, 300);
    return chart;
}

} // namespace

class ChartTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void ticks_are_few_round_numbers_within_the_axis()
    {
        for (const double least : {0.0, -3.7, 12.3, 1e9})
            for (const double span : {1e-6, 0.7, 13.0, 48'877.0, 3e12})
                for (const int count : {1, 3, 8}) {
                    const auto ticks = chart_ticks(least, least + span, count, false);
                    QVERIFY(ticks.size() >= 2 && static_cast<int>(ticks.size()) <= std::max(count + 1, 5));
                    for (const double tick : ticks)
                        QVERIFY(tick >= least - span * 1e-6 && tick <= least + span * (1 + 1e-6));
                }
        QCOMPARE(chart_ticks(0, 48'877, 5, false), (std::vector<double>{0, 10'000, 20'000, 30'000, 40'000}));
        QCOMPARE(chart_ticks(1e3, 1e6, 8, true), (std::vector<double>{1e3, 1e4, 1e5, 1e6}));
        QVERIFY(chart_ticks(3e6, 9e7, 8, true).size() >= 3);
    }

    void keys_move_the_crosshair_from_sample_to_sample()
    {
        const auto chart = chart_of_two();
        QSignalSpy moved(chart.get(), &Chart::crosshair_moved);
        QTest::keyClick(chart.get(), Qt::Key_Right);
        QCOMPARE(chart->crosshair(), std::optional(0.0));
        QTest::keyClick(chart.get(), Qt::Key_Right);
        QCOMPARE(chart->crosshair(), std::optional(10.0));
        QTest::keyClick(chart.get(), Qt::Key_End);
        QCOMPARE(chart->crosshair(), std::optional(30.0));
        QTest::keyClick(chart.get(), Qt::Key_Right);
        QCOMPARE(chart->crosshair(), std::optional(30.0));
        QTest::keyClick(chart.get(), Qt::Key_Left);
        QCOMPARE(chart->crosshair(), std::optional(20.0));
        QTest::keyClick(chart.get(), Qt::Key_Home);
        QCOMPARE(chart->crosshair(), std::optional(0.0));
        QTest::keyClick(chart.get(), Qt::Key_Escape);
        QVERIFY(!chart->crosshair());
        QCOMPARE(moved.count(), 6);
    }

    void the_crosshair_shows_the_latest_value_of_every_line()
    {
        const auto chart = chart_of_two();
        chart->set_crosshair(10.0);
        QCOMPARE(chart->crosshair_text(), QStringLiteral("Tokens: 10\na: 6\nb: 1"));
        QAccessibleInterface* accessible = QAccessible::queryAccessibleInterface(chart.get());
        QVERIFY(accessible);
        QCOMPARE(accessible->role(), QAccessible::Chart);
        QCOMPARE(accessible->text(QAccessible::Name), QStringLiteral("Two lines"));
        QCOMPARE(accessible->text(QAccessible::Value), chart->crosshair_text());
    }

    void the_mouse_finds_the_nearest_sample()
    {
        const auto chart = chart_of_two();
        chart->show();
        QTest::mouseMove(chart.get(), QPoint(chart->width() * 4 / 5, chart->height() / 2));
        EVENTUALLY(chart->crosshair());
        QVERIFY(*chart->crosshair() == 20 || *chart->crosshair() == 30);
    }

    void the_table_of_a_chart_has_every_value()
    {
        const auto chart = chart_of_two();
        ChartTable table({.title = QStringLiteral("Tokens"), .text = plain},
                         {.title = QStringLiteral("Value"), .text = plain}, chart->lines());
        const QAbstractItemModelTester tester(&table, QAbstractItemModelTester::FailureReportingMode::QtTest);
        QCOMPARE(csv_of(table), QStringLiteral("Tokens,a,b\r\n0,5,1\r\n10,6,\r\n20,7,2\r\n30,,3\r\n"));
        QTest::keyClick(chart.get(), Qt::Key_T);
        auto* dialog = chart->findChild<QDialog*>();
        QVERIFY(dialog);
        QCOMPARE(dialog->findChild<QTableView*>()->model()->rowCount(), 4);
        QCOMPARE(test::nameless(*dialog), QStringList());
    }

    void lines_contrast_with_the_background()
    {
        for (const QPalette& palette : {test::light_palette(), test::dark_palette()})
            for (int style = 0; style < 4; ++style) {
                const QColor color = chart_color(style, palette, QPalette::Base);
                QVERIFY(contrast(color, palette.color(QPalette::Base)) >= 3);
                for (int other = 0; other < style; ++other)
                    QVERIFY(color != chart_color(other, palette, QPalette::Base));
            }
    }

    void a_chart_without_lines_or_with_one_point_is_drawn()
    {
        Chart chart(QStringLiteral("Empty"));
        chart.set_axes({.title = QStringLiteral("x"), .text = plain},
                       {.title = QStringLiteral("y"), .text = plain});
        chart.resize(chart.minimumSizeHint());
        QVERIFY(!chart.grab().isNull());
        chart.set_lines({{QStringLiteral("one"), {{3, 4}}, 0}});
        QVERIFY(!chart.grab().isNull());
        QTest::keyClick(&chart, Qt::Key_Left);
        QCOMPARE(chart.crosshair(), std::optional(3.0));
        chart.set_lines({});
        QVERIFY(!chart.crosshair());
    }

    void a_line_with_missing_values_is_drawn()
    {
        Chart chart(QStringLiteral("Gap"));
        chart.set_axes({.title = QStringLiteral("x"), .text = plain},
                       {.title = QStringLiteral("y"), .text = plain, .logarithmic = true});
        chart.set_lines({{QStringLiteral("gap"), {{0, 1}, {1, std::nan("")}, {2, 0}, {3, 10}}, 0}});
        chart.resize(400, 200);
        QVERIFY(!chart.grab().isNull());
    }

    void numbers_are_written_as_in_the_language()
    {
        QLocale::setDefault(QLocale(QLocale::German, QLocale::Germany));
        QCOMPARE(count_text(1'234'567), QStringLiteral("1.234.567"));
        QCOMPARE(number_text(2.5, 1), QStringLiteral("2,5"));
        QLocale::setDefault(QLocale(QLocale::English, QLocale::UnitedStates));
        QCOMPARE(bytes_text(96'400'000), QStringLiteral("96.4 MB"));
        QCOMPARE(duration_text(41.2), QStringLiteral("41 s"));
        QCOMPARE(duration_text(185), QStringLiteral("3:05 min"));
        QCOMPARE(duration_text(7800), QStringLiteral("2:10 h"));
    }
};

QTEST_MAIN(ChartTest)
#include "chart_test.moc"
