// The memory view: correct and bounded at any length, and accessible.

#include <QAbstractItemModelTester>
#include <QTableView>
#include <QTest>

#include "tests/ui/support/looks.h"
#include "ui/base/quantity.h"
#include "ui/base/table_text.h"
#include "ui/memory/memory_table.h"
#include "ui/memory/memory_view.h"

using namespace palimpsest;
using namespace palimpsest::ui;

namespace {

constexpr uint64_t slot_bytes = 4096;

engine::Telemetry telemetry_at(uint64_t tokens)
{
    return {.tokens_seen = tokens,
            .tokens_per_second = 4120,
            .cache_bytes = 2560 * slot_bytes,
            .scratch_bytes = 3'000'000,
            .full_cache_bytes = tokens * slot_bytes,
            .slots_used = static_cast<int64_t>(std::min<uint64_t>(tokens, 2048)),
            .slots_capacity = 2560,
            .evicted = tokens > 2048 ? tokens - 2048 : 0};
}

Frame frame_at(uint64_t tokens)
{
    Frame frame;
    frame.telemetry = telemetry_at(tokens);
    frame.kept = std::make_shared<engine::RetentionMap>();
    return frame;
}

QString value_of(const MemoryView& view, MemoryTable::Row row)
{
    const auto* table = view.findChild<MemoryTable*>();
    return table->index(row, 1).data().toString();
}

} // namespace

class MemoryViewTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase() { QLocale::setDefault(QLocale(QLocale::English, QLocale::UnitedStates)); }

    void the_history_keeps_a_bounded_number_of_the_reported_samples()
    {
        MemoryHistory history(64);
        std::vector<uint64_t> reported;
        for (uint64_t tokens = 512; tokens < 10'000'000; tokens += 511 + tokens % 97) {
            history.add(telemetry_at(tokens));
            reported.push_back(tokens);
            QVERIFY(history.samples().size() <= 64);
            QCOMPARE(history.samples().front().tokens, reported.front());
            QCOMPARE(history.samples().back().tokens, reported.back());
        }
        QVERIFY(history.samples().size() > 16);
        uint64_t before = 0, widest = 0;
        for (const auto& [tokens, t] : history.samples()) {
            QVERIFY(std::binary_search(reported.begin(), reported.end(), tokens));
            QCOMPARE(t.full_cache_bytes, tokens * slot_bytes);
            QVERIFY(tokens > before);
            widest = std::max(widest, tokens - before);
            before = tokens;
        }
        QVERIFY(widest < 10'000'000 / 8); // spread over the whole stream
    }

    void samples_of_tokens_that_were_undone_are_dropped()
    {
        MemoryHistory history;
        for (const uint64_t tokens : {100, 200, 300, 400})
            history.add(telemetry_at(tokens));
        history.add(telemetry_at(250));
        std::vector<uint64_t> left;
        for (const auto& sample : history.samples())
            left.push_back(sample.tokens);
        QCOMPARE(left, (std::vector<uint64_t>{100, 200, 250}));
    }

    void the_axis_is_logarithmic_when_a_full_cache_is_over_twenty_times_larger()
    {
        MemoryView view;
        view.begin(QStringLiteral("cpu"));
        auto* chart = view.findChild<Chart*>();
        view.show_frame(frame_at(2560 * 20));
        QVERIFY(!chart->y_axis().logarithmic);
        view.show_frame(frame_at(2560 * 20 + 1));
        QVERIFY(chart->y_axis().logarithmic);
        QVERIFY(chart->y_axis().title.contains(QLatin1String("logarithmic")));
    }

    void the_table_and_the_chart_show_the_telemetry()
    {
        MemoryView view;
        view.begin(QStringLiteral("cuda:0"));
        Frame frame = frame_at(128'000);
        frame.tokens_per_second = 3999;
        view.show_frame(frame);
        QCOMPARE(value_of(view, MemoryTable::TokensRead), QStringLiteral("128,000"));
        QCOMPARE(value_of(view, MemoryTable::Cache), QStringLiteral("10.5 MB"));
        QCOMPARE(value_of(view, MemoryTable::FullCache), QStringLiteral("524 MB"));
        QCOMPARE(value_of(view, MemoryTable::Share), QStringLiteral("2.0 %"));
        QCOMPARE(value_of(view, MemoryTable::Slots), QStringLiteral("2,048 of 2,560 (80 %)"));
        QCOMPARE(value_of(view, MemoryTable::Evicted), QStringLiteral("125,952"));
        QCOMPARE(value_of(view, MemoryTable::Speed), QStringLiteral("3,999 tok/s"));
        QVERIFY(value_of(view, MemoryTable::Place).contains(QLatin1String("cuda:0")));
        const auto* table = view.findChild<MemoryTable*>();
        QCOMPARE(table->index(MemoryTable::Cache, 1).data(RawRole).toULongLong(), 2560 * slot_bytes);
        const auto lines = view.findChild<Chart*>()->lines();
        QCOMPARE(lines.size(), size_t{2});
        QCOMPARE(lines[0].points.back(), QPointF(128'000, 2560.0 * slot_bytes));
        QCOMPARE(lines[1].points.back(), QPointF(128'000, 128'000.0 * slot_bytes));
    }

    void the_table_is_hidden_without_a_session()
    {
        MemoryView view;
        view.show();
        const auto* table = view.findChild<QTableView*>();
        QVERIFY(!table->isVisible());
        view.show_frame(frame_at(1000));
        QVERIFY(table->isVisible());
        view.show_frame(Frame());
        QVERIFY(!table->isVisible());
        QVERIFY(view.history().empty());
    }

    void another_session_starts_an_empty_history()
    {
        MemoryView view;
        view.show_frame(frame_at(5000));
        view.begin(QStringLiteral("cpu"));
        QVERIFY(view.history().empty());
        view.show_frame(frame_at(9000));
        QCOMPARE(view.history().samples().size(), size_t{1});
    }

    void a_stored_session_has_curves_of_its_past()
    {
        MemoryView view;
        view.begin(QStringLiteral("cpu"), [](uint64_t tokens) { return tokens * slot_bytes; });
        view.show_frame(frame_at(128'000));
        const auto lines = view.findChild<Chart*>()->lines();
        for (const ChartLine& line : lines) {
            QVERIFY(line.points.size() > 32);
            QCOMPARE(line.points.front().x(), 0.0);
            QCOMPARE(line.points.back().x(), 128'000.0);
        }
        for (const QPointF& point : lines[0].points)
            QCOMPARE(point.y(), 2560.0 * slot_bytes);
        for (const QPointF& point : lines[1].points)
            QCOMPARE(point.y(), point.x() * slot_bytes);
        view.show_frame(frame_at(128'512)); // the session continues
        QCOMPARE(view.findChild<Chart*>()->lines()[1].points.size(), lines[1].points.size() + 1);
    }

    void the_past_of_a_short_session_has_no_duplicate_samples()
    {
        MemoryHistory history;
        history.add_past(telemetry_at(3), [](uint64_t tokens) { return tokens * slot_bytes; });
        history.add(telemetry_at(3));
        std::vector<uint64_t> places;
        for (const auto& sample : history.samples())
            places.push_back(sample.tokens);
        QCOMPARE(places, (std::vector<uint64_t>{0, 1, 2, 3}));
    }

    void the_table_passes_the_item_model_tester()
    {
        MemoryTable table;
        const QAbstractItemModelTester tester(&table, QAbstractItemModelTester::FailureReportingMode::QtTest);
        table.show(telemetry_at(1), 1, QStringLiteral("cpu"));
        table.show(telemetry_at(2), 1, QStringLiteral("cpu"));
        QCOMPARE(table.rowCount(), int{MemoryTable::RowCount});
        for (int r = 0; r < table.rowCount(); ++r)
            QVERIFY2(!table.index(r, 0).data().toString().isEmpty() &&
                         !table.index(r, 1).data().toString().isEmpty(),
                     qPrintable(QString::number(r)));
        table.clear();
        QCOMPARE(table.rowCount(), 0);
    }

    void widgets_have_names_on_either_scale()
    {
        MemoryView view;
        view.begin(QStringLiteral("cpu"));
        view.resize(view.fontMetrics().averageCharWidth() * 54, view.fontMetrics().height() * 30);
        view.show();
        test::keep_pictures(view, QStringLiteral("memory-empty"));
        for (uint64_t tokens = 512; tokens <= 24'000; tokens += 512)
            view.show_frame(frame_at(tokens));
        test::keep_pictures(view, QStringLiteral("memory-linear"));
        for (uint64_t tokens = 24'064; tokens <= 800'000; tokens += 512)
            view.show_frame(frame_at(tokens));
        auto* chart = view.findChild<Chart*>();
        chart->setFocus();
        QTest::keyClick(chart, Qt::Key_Home);
        for (int i = 0; i < 12; ++i)
            QTest::keyClick(chart, Qt::Key_Right, Qt::ShiftModifier);
        test::keep_pictures(view, QStringLiteral("memory-logarithmic"));
        QCOMPARE(test::nameless(view), QStringList());
    }
};

QTEST_MAIN(MemoryViewTest)
#include "memory_view_test.moc"
