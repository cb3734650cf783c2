// The widget of the map: following, zooming, dragging, keyboard, accessibility and speed.

#include <QAccessible>
#include <QAction>
#include <QApplication>
#include <QComboBox>
#include <QLabel>
#include <QPainter>
#include <QPushButton>
#include <QScrollBar>
#include <QTableView>
#include <QTemporaryDir>
#include <QToolTip>
#include <QWheelEvent>
#include <QtTest>
#include <ctime>
#include <fstream>
#include <semaphore>
#include <unistd.h>

#include "kernels/base/sanitized.h"
#include "tests/ui/map/synthetic_map.h"
#include "tests/ui/support/patience.h"
#include "ui/map/colors.h"
#include "ui/map/table.h"
#include "ui/map/table_window.h"
#include "ui/map/view.h"

using namespace palimpsest;
using namespace palimpsest::ui;

namespace {

constexpr int sanitizer_factor = is_sanitized ? 12 : 1;

uint64_t resident_bytes()
{
    std::ifstream statm("/proc/self/statm");
    uint64_t all = 0, resident = 0;
    statm >> all >> resident;
    return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

// Processor time of this thread, which does not depend on other programs.
double computing_milliseconds()
{
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

void show_view(RetentionView& view, QSize size = {900, 420})
{
    view.resize(size);
    view.show();
    QVERIFY(QTest::qWaitForWindowExposed(&view, test::patience_ms));
    view.activateWindow();
    view.setFocus();
    EVENTUALLY(view.hasFocus());
    EVENTUALLY(view.frames_painted() > 0);
}

QPoint middle_of(const RetentionView& view, double share, int row)
{
    const MapLayout now = view.grid().layout();
    return QPointF(now.plot.left() + share * now.plot.width(), now.row(row).center().y()).toPoint();
}

void turn_wheel(RetentionView& view, const QPoint& at, int notches, Qt::KeyboardModifiers keys = {})
{
    QWheelEvent event(QPointF(at), view.viewport()->mapToGlobal(QPointF(at)), {}, {0, 120 * notches}, Qt::NoButton,
                      keys, Qt::NoScrollPhase, false);
    QApplication::sendEvent(view.viewport(), &event);
}

void wait_for_picture(const RetentionView& view)
{
    const uint64_t before = view.frames_painted();
    EVENTUALLY(view.frames_painted() > before);
}

} // namespace

class RetentionViewTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void an_empty_view_has_no_crosshair_and_says_why();
    void the_view_follows_the_end_of_the_stream_until_the_user_zooms();
    void the_view_renders_at_most_thirty_times_a_second();
    void an_unchanged_map_is_not_rendered_again();
    void the_pixel_under_the_mouse_has_the_colour_of_its_cell();
    void the_wheel_zooms_around_the_cursor();
    void a_drag_pans_and_a_double_click_resets();
    void a_drag_with_shift_selects_a_range();
    void a_click_on_a_label_shows_the_heads();
    void everything_is_reached_by_keyboard();
    void many_rows_scroll_with_the_crosshair();
    void the_readout_is_elided_at_its_width();
    void assistive_technology_reads_the_crosshair();
    void the_table_opens_and_works_by_keyboard();
    void the_view_exports_its_map_or_reports_why_not();
    void an_export_does_not_block_the_thread_of_the_window();
    void closing_stops_an_export_and_keeps_the_old_file();
    void the_view_follows_the_palette();
    void a_frame_of_ten_million_tokens_is_painted_in_time_data();
    void a_frame_of_ten_million_tokens_is_painted_in_time();
    void memory_does_not_grow_with_the_stream();
    void interactive_widgets_have_names();
};

void RetentionViewTest::an_empty_view_has_no_crosshair_and_says_why()
{
    RetentionView view;
    show_view(view);
    const QImage nothing = view.grab().toImage();
    for (const auto key : {Qt::Key_Left, Qt::Key_Return, Qt::Key_End, Qt::Key_Plus, Qt::Key_Space, Qt::Key_T})
        QTest::keyClick(&view, key);
    turn_wheel(view, {400, 100}, 1);
    QVERIFY(!view.place());
    view.set_map(std::make_shared<engine::RetentionMap>(
        engine::RetentionMap{.layers = 2, .kv_heads = 1, .tokens_seen = 0, .tokens = {{}, {}}}));
    EVENTUALLY(view.is_current());
    QVERIFY(view.grab().toImage() != nothing);
    QTest::keyClick(&view, Qt::Key_Left);
    QVERIFY(!view.place());
}

void RetentionViewTest::the_view_follows_the_end_of_the_stream_until_the_user_zooms()
{
    RetentionView view;
    show_view(view);
    view.set_map(synthetic_map({.tokens = 1000}));
    QVERIFY(view.scene().window.is_whole());
    view.set_map(synthetic_map({.tokens = 2000}));
    QCOMPARE(view.scene().window.last(), 2000.0);
    view.set_map(synthetic_map({.tokens = 2000}), 8000); // of 8000 tokens in all
    QCOMPARE(view.scene().window.last(), 8000.0);
    view.set_expanded(2, true);
    view.zoom(4);
    const double first = view.scene().window.first(), last = view.scene().window.last();
    view.set_map(synthetic_map({.tokens = 9000}));
    QCOMPARE(view.scene().window.first(), first);
    QCOMPARE(view.scene().window.last(), last);
    QVERIFY(view.scene().rows.is_expanded(2));
    view.reset_zoom();
    QCOMPARE(view.scene().window.last(), 9000.0);
    view.set_map(synthetic_map({.layers = 3, .tokens = 100})); // another model: shows the whole stream again
    QVERIFY(view.scene().window.is_whole());
    QCOMPARE(view.scene().rows.count(), 3);
    view.set_map(nullptr);
    QCOMPARE(view.scene().rows.count(), 0);
}

void RetentionViewTest::the_view_renders_at_most_thirty_times_a_second()
{
    RetentionView view;
    show_view(view);
    const uint64_t before = view.frames_painted();
    QElapsedTimer time;
    time.start();
    const double fewest = 5 / double(sanitizer_factor); // with fewer frames, the view would not have been busy
    const auto painted = [&] { return static_cast<double>(view.frames_painted() - before); };
    for (uint64_t tokens = 1000; time.elapsed() < (painted() < fewest ? test::patience_ms : 1000); ++tokens) {
        view.set_map(synthetic_map({.layers = 2, .kv_heads = 1, .tokens = tokens, .kept = 50}));
        turn_wheel(view, {400, 60}, tokens % 2 == 0 ? 1 : -1);
        QApplication::processEvents();
    }
    const double frames = painted();
    QVERIFY2(frames <= static_cast<double>(time.elapsed()) / 33 + 2, qPrintable(QString::number(frames)));
    QVERIFY(frames >= fewest);
}

void RetentionViewTest::an_unchanged_map_is_not_rendered_again()
{
    RetentionView view;
    const auto map = synthetic_map({});
    view.set_map(map);
    show_view(view);
    EVENTUALLY(view.is_current());
    const uint64_t before = view.frames_painted();
    view.set_map(map);
    QTest::mouseMove(view.viewport(), middle_of(view, 0.3, 1));
    QTest::mouseMove(view.viewport(), middle_of(view, 0.6, 3)); // the crosshair needs no new picture
    QVERIFY(test::stays([&] { return view.frames_painted() == before; }, 150));
    QVERIFY(view.place());
}

void RetentionViewTest::the_pixel_under_the_mouse_has_the_colour_of_its_cell()
{
    RetentionView view;
    const auto map = synthetic_map({.tokens = 40'000, .kept = 900});
    view.set_map(map);
    view.set_expanded(3, true);
    show_view(view);
    const QColor colors_are_of = view.palette().color(QPalette::Window);
    const RetentionColors& colors = RetentionColors::of(colors_are_of.lightness() < 128);
    std::mt19937 random(9);
    for (const double factor : {1.0, 40.0}) {
        view.zoom(factor);
        EVENTUALLY(view.frames_painted() > 1);
        EVENTUALLY(view.is_current());
        const MapLayout now = view.grid().layout();
        for (int i = 0; i < 100; ++i) {
            const QPoint at(int(now.plot.left()) + int(random() % unsigned(now.plot.width())),
                            middle_of(view, 0, int(random() % unsigned(view.scene().rows.count()))).y());
            QTest::keyClick(&view, Qt::Key_Escape); // no crosshair in the picture
            const QRgb pixel = view.viewport()->grab().toImage().pixel(at);
            QTest::mouseMove(view.viewport(), {1, 1});
            QTest::mouseMove(view.viewport(), at);
            QVERIFY(view.place());
            const MapCell place = *view.place();
            const uint64_t kept =
                plain_count(*map, place.row.layer, place.row.head, place.tokens.first, place.tokens.last);
            const uint64_t pairs = (place.tokens.last - place.tokens.first) * (place.row.is_layer() ? 4 : 1);
            QCOMPARE(pixel, colors.at(RetentionColors::level(kept, pairs)));
        }
    }
}

void RetentionViewTest::the_wheel_zooms_around_the_cursor()
{
    RetentionView view;
    view.set_map(synthetic_map({.tokens = 1'000'000}));
    show_view(view);
    const QPoint at = middle_of(view, 0.25, 2);
    QTest::mouseMove(view.viewport(), at);
    const double under = double(view.place()->tokens.first);
    for (int i = 0; i < 12; ++i) {
        turn_wheel(view, at, 1);
        const double per_pixel = view.scene().window.span() / view.grid().layout().plot.width();
        QVERIFY(std::abs(double(view.place()->tokens.first) - under) <= 2000 && per_pixel > 0);
    }
    QVERIFY(view.scene().window.span() < 100'000);
    for (int i = 0; i < 60; ++i)
        turn_wheel(view, at, 1);
    QCOMPARE(view.scene().window.span(), VisibleRange::least_span);
    const double first = view.scene().window.first();
    turn_wheel(view, at, -5, Qt::ShiftModifier);
    QVERIFY(view.scene().window.first() > first);
    for (int i = 0; i < 90; ++i)
        turn_wheel(view, at, -1);
    QVERIFY(view.scene().window.is_whole());
}

void RetentionViewTest::a_drag_pans_and_a_double_click_resets()
{
    RetentionView view;
    view.set_map(synthetic_map({.tokens = 100'000}));
    show_view(view);
    view.zoom(10);
    QSignalSpy activated(&view, &RetentionView::token_activated);
    const double first = view.scene().window.first(), span = view.scene().window.span();
    const QPoint from = middle_of(view, 0.5, 1), to = middle_of(view, 0.75, 1);
    QTest::mousePress(view.viewport(), Qt::LeftButton, {}, from);
    QTest::mouseMove(view.viewport(), (from + to) / 2);
    QTest::mouseMove(view.viewport(), to);
    QTest::mouseRelease(view.viewport(), Qt::LeftButton, {}, to);
    QVERIFY(std::abs(first - view.scene().window.first() - span / 4) < span / 100);
    QCOMPARE(activated.count(), 0);
    QTest::mouseClick(view.viewport(), Qt::LeftButton, {}, to);
    QCOMPARE(activated.count(), 1);
    const auto token = activated.at(0).at(0).toULongLong();
    QVERIFY(view.place()->tokens.first <= token && token < view.place()->tokens.last);
    QTest::mouseDClick(view.viewport(), Qt::LeftButton, {}, to);
    QVERIFY(view.scene().window.is_whole());
}

void RetentionViewTest::a_drag_with_shift_selects_a_range()
{
    RetentionView view;
    view.set_map(synthetic_map({.tokens = 100'000}));
    show_view(view);
    QSignalSpy wanted(&view, &RetentionView::range_wanted);
    const QPoint from = middle_of(view, 0.5, 1), to = middle_of(view, 0.25, 1);
    QTest::mousePress(view.viewport(), Qt::LeftButton, Qt::ShiftModifier, from);
    QTest::mouseMove(view.viewport(), to);
    QTest::mouseRelease(view.viewport(), Qt::LeftButton, Qt::ShiftModifier, to);
    QCOMPARE(wanted.count(), 1);
    const auto range = wanted.at(0).at(0).value<StreamRange>();
    QVERIFY(std::abs(double(range.first) - 25'000) < 300 && std::abs(double(range.last) - 50'000) < 300);
    QVERIFY(view.scene().window.is_whole()); // not panned
    QTest::keyClick(&view, Qt::Key_Escape);
    QVERIFY(!view.scene().selection);
}

void RetentionViewTest::a_click_on_a_label_shows_the_heads()
{
    RetentionView view;
    view.set_map(synthetic_map({}));
    show_view(view);
    const auto click = [&](int row) {
        const MapLayout now = view.grid().layout();
        QTest::mouseClick(view.viewport(), Qt::LeftButton, {},
                          QPointF(now.labels.center().x(), now.row(row).center().y()).toPoint());
    };
    click(2);
    QCOMPARE(view.scene().rows.count(), 10);
    QVERIFY(view.scene().rows.is_expanded(3));
    click(2);
    QCOMPARE(view.scene().rows.count(), 6);
}

void RetentionViewTest::everything_is_reached_by_keyboard()
{
    RetentionView view;
    view.set_map(synthetic_map({.tokens = 100'000}));
    show_view(view);
    QTest::keyClick(&view, Qt::Key_Right);
    QVERIFY(view.place());
    QTest::keyClick(&view, Qt::Key_Home);
    QCOMPARE(view.place()->tokens.first, uint64_t{0});
    const MapCell start = *view.place();
    QTest::keyClick(&view, Qt::Key_Right);
    QCOMPARE(view.place()->tokens.first, start.tokens.last); // the neighbouring cell
    QTest::keyClick(&view, Qt::Key_Left);
    QCOMPARE(*view.place(), start);
    QTest::keyClick(&view, Qt::Key_Left);
    QCOMPARE(*view.place(), start);
    QTest::keyClick(&view, Qt::Key_Right, Qt::ControlModifier);
    QVERIFY(std::abs(double(view.place()->tokens.first) - 10'000) < 400);
    QTest::keyClick(&view, Qt::Key_End);
    QCOMPARE(view.place()->tokens.last, uint64_t{100'000});
    QTest::keyClick(&view, Qt::Key_Right);
    QCOMPARE(view.place()->tokens.last, uint64_t{100'000});

    QCOMPARE(view.place()->row.layer, 5);
    QTest::keyClick(&view, Qt::Key_Down);
    QCOMPARE(view.place()->row.layer, 4);
    QTest::keyClick(&view, Qt::Key_Return);
    QVERIFY(view.scene().rows.is_expanded(4));
    QTest::keyClick(&view, Qt::Key_Down);
    QVERIFY((view.place()->row == MapRow{4, 3}));
    QTest::keyClick(&view, Qt::Key_Return);
    QVERIFY(!view.scene().rows.is_expanded(4));
    QVERIFY((view.place()->row == MapRow{4, -1}));
    QTest::keyClick(&view, Qt::Key_PageDown);
    QCOMPARE(view.place()->row.layer, 0);
    QTest::keyClick(&view, Qt::Key_PageUp);
    QCOMPARE(view.place()->row.layer, 5);

    QTest::keyClick(&view, Qt::Key_Plus);
    QVERIFY(!view.scene().window.is_whole());
    QCOMPARE(view.scene().window.last(), 100'000.0); // zooms around the crosshair, which is at the end
    for (int i = 0; i < 40; ++i)
        QTest::keyClick(&view, Qt::Key_Plus);
    QCOMPARE(view.scene().window.span(), VisibleRange::least_span);
    const uint64_t token = view.place()->tokens.first;
    QTest::keyClick(&view, Qt::Key_Left); // a token is now wider than a pixel, so the key moves by one token
    QCOMPARE(view.place()->tokens.first, token - 1);
    for (int i = 0; i < 20; ++i)
        QTest::keyClick(&view, Qt::Key_Left);
    QCOMPARE(view.place()->tokens.first, token - 21); // the visible range moved along
    QVERIFY(view.scene().window.first() <= double(token - 21));
    QTest::keyClick(&view, Qt::Key_Minus);
    QVERIFY(view.scene().window.span() > VisibleRange::least_span);
    QTest::keyClick(&view, Qt::Key_0);
    QVERIFY(view.scene().window.is_whole());
    QTest::keyClick(&view, Qt::Key_Asterisk, Qt::ShiftModifier);
    QTest::keyClick(&view, Qt::Key_Asterisk);
    QCOMPARE(view.scene().rows.count(), 30);
    QTest::keyClick(&view, Qt::Key_Slash);
    QCOMPARE(view.scene().rows.count(), 6);

    QSignalSpy activated(&view, &RetentionView::token_activated), wanted(&view, &RetentionView::range_wanted);
    QTest::keyClick(&view, Qt::Key_Space);
    QCOMPARE(activated.count(), 1);
    QTest::keyClick(&view, Qt::Key_Home);
    QTest::keyClick(&view, Qt::Key_Right, Qt::ShiftModifier);
    QTest::keyClick(&view, Qt::Key_Right, Qt::ShiftModifier | Qt::ControlModifier);
    QCOMPARE(wanted.count(), 2);
    QCOMPARE(wanted.at(1).at(0).value<StreamRange>().first, uint64_t{0});
    QTest::keyClick(&view, Qt::Key_Escape);
    QVERIFY(!view.place() && !view.scene().selection);
}

void RetentionViewTest::many_rows_scroll_with_the_crosshair()
{
    RetentionView view;
    view.set_map(synthetic_map({.layers = 32, .kv_heads = 8, .tokens = 20'000, .kept = 100}));
    show_view(view);
    view.expand_all();
    wait_for_picture(view);
    QVERIFY(view.verticalScrollBar()->maximum() > 0);
    QTest::keyClick(&view, Qt::Key_Home);
    for (int i = 0; i < 400; ++i)
        QTest::keyClick(&view, Qt::Key_Down);
    QVERIFY((view.place()->row == MapRow{0, 0}));
    QCOMPARE(view.verticalScrollBar()->value(), view.verticalScrollBar()->maximum());
    const MapLayout now = view.grid().layout();
    const QRectF row = now.row(view.scene().rows.index_of(view.place()->row));
    QVERIFY(row.top() >= now.plot.top() - 1 && row.bottom() <= now.plot.bottom() + 1);
    view.collapse_all();
    wait_for_picture(view);
    QCOMPARE(view.verticalScrollBar()->maximum(), 0);
    QVERIFY((view.place()->row == MapRow{0, -1}));
}

void RetentionViewTest::the_readout_is_elided_at_its_width()
{
    RetentionView view;
    view.set_map(synthetic_map({.tokens = 4'000'000}));
    show_view(view, {260, 420});
    QTest::keyClick(&view, Qt::Key_Right);
    const QLabel* readout = nullptr;
    for (const QLabel* label : view.findChildren<QLabel*>())
        if (label->text().endsWith(QChar(0x2026))) readout = label;
    QVERIFY(readout);
    QVERIFY(readout->fontMetrics().horizontalAdvance(readout->text()) + 2 * readout->indent() <= readout->width());
}

void RetentionViewTest::assistive_technology_reads_the_crosshair()
{
    RetentionView view;
    MapMarks marks;
    marks.sections = {{0, QStringLiteral("The harbour")}};
    view.set_map(synthetic_map({}));
    view.set_marks(marks);
    view.set_describe([](uint64_t token) { return QStringLiteral("word %1").arg(token); });
    show_view(view);
    QAccessibleInterface* const map = QAccessible::queryAccessibleInterface(&view);
    QVERIFY(map && map->isValid());
    QCOMPARE(map->role(), QAccessible::Chart);
    QVERIFY(!map->text(QAccessible::Name).isEmpty() && !map->text(QAccessible::Description).isEmpty());
    QAccessibleValueInterface* const value = map->valueInterface();
    QVERIFY(value);
    QCOMPARE(value->maximumValue().toULongLong(), 4999ULL);
    value->setCurrentValue(4990);
    QVERIFY(view.place());
    QVERIFY(view.place()->tokens.first <= 4990 && 4990 < view.place()->tokens.last);
    QCOMPARE(value->currentValue().toULongLong(), qulonglong(view.place()->tokens.first));
    const QString text = map->text(QAccessible::Value);
    QVERIFY(text.contains(row_name(view.place()->row)));
    QVERIFY(text.contains(QLatin1String("The harbour")) && text.contains(QLatin1String("word ")));
    QTest::keyClick(&view, Qt::Key_Left);
    QVERIFY(map->text(QAccessible::Value) != text);
    QVERIFY(QToolTip::text().contains(QLatin1String("The harbour")));
}

void RetentionViewTest::the_table_opens_and_works_by_keyboard()
{
    RetentionView view;
    view.set_map(synthetic_map({}));
    show_view(view);
    QTest::keyClick(&view, Qt::Key_T);
    auto* const window = view.findChild<MapTableWindow*>();
    QVERIFY(window && window->isVisible());
    auto* const table = window->findChild<QTableView*>();
    QCOMPARE(table->model()->rowCount(), 6);
    QVERIFY(!window->findChild<QComboBox*>()->isEnabled()); // without sections, the columns are always tenths
    QVERIFY(QTest::qWaitForWindowActive(window, test::patience_ms));
    EVENTUALLY(table->hasFocus());
    QSignalSpy activated(&view, &RetentionView::token_activated);
    table->setCurrentIndex(table->model()->index(0, 0));
    QTest::keyClick(table, Qt::Key_Right);
    QTest::keyClick(table, Qt::Key_Return);
    QCOMPARE(activated.count(), 1);
    QCOMPARE(activated.at(0).at(0).toULongLong(), 500ULL);
    view.set_map(synthetic_map({.seed = 2})); // the table follows the map
    wait_for_picture(view);
    QCOMPARE(table->currentIndex().column(), 1);
    QTest::keyClick(window, Qt::Key_Escape);
    QVERIFY(!window->isVisible());
}

void RetentionViewTest::the_view_exports_its_map_or_reports_why_not()
{
    const QTemporaryDir folder;
    RetentionView view;
    QSignalSpy ended(&view, &RetentionView::export_ended);
    const auto trouble_with = [&](const QString& name) {
        view.save_as(folder.filePath(name));
        if (!test::eventually([&] { return !ended.isEmpty(); })) return QStringLiteral("nothing was told");
        return ended.takeFirst().at(1).toString();
    };
    QVERIFY(trouble_with(QStringLiteral("map.png")).contains(QLatin1String("PAL-MAP-02"))); // no session
    view.set_map(synthetic_map({}));
    view.exporter().set_title(QStringLiteral("Ashford"));
    show_view(view);
    QCOMPARE(trouble_with(QStringLiteral("map.svg")), QString());
    QFile file(folder.filePath(QStringLiteral("map.svg")));
    QVERIFY(file.open(QIODevice::ReadOnly));
    QVERIFY(file.readAll().contains("Ashford"));
    QVERIFY(
        trouble_with(QStringLiteral("map.csv")).contains(QLatin1String("PAL-OPTION-05"))); // no writer was given
    QVERIFY(trouble_with(QStringLiteral("no/where.png")).contains(QLatin1String("PAL-DISK-03")));
    view.exporter().set_writers(
        {.csv = [](std::ostream& out, const engine::RetentionMap&) { out << "layer"; }, .json = {}});
    QCOMPARE(trouble_with(QStringLiteral("map.csv")), QString());
    QVERIFY(QFile::exists(folder.filePath(QStringLiteral("map.csv"))));
}

// The writer ends only after save_as() has returned to the window's thread.
void RetentionViewTest::an_export_does_not_block_the_thread_of_the_window()
{
    const QTemporaryDir folder;
    RetentionView view;
    view.set_map(synthetic_map({}));
    std::binary_semaphore window_went_on(0);
    view.exporter().set_writers({.csv =
                                     [&](std::ostream& out, const engine::RetentionMap&) {
                                         window_went_on.acquire();
                                         out << "layer";
                                     },
                                 .json = {}});
    QSignalSpy ended(&view, &RetentionView::export_ended);
    view.save_as(folder.filePath(QStringLiteral("map.csv")));
    window_went_on.release();
    EVENTUALLY_EQUAL(ended.count(), 1);
    QCOMPARE(ended.at(0).at(1).toString(), QString());
}

void RetentionViewTest::closing_stops_an_export_and_keeps_the_old_file()
{
    const QTemporaryDir folder;
    QFile file(folder.filePath(QStringLiteral("map.csv")));
    QVERIFY(file.open(QIODevice::WriteOnly) && file.write("old") == 3);
    file.close();
    std::binary_semaphore has_begun(0);
    bool was_stopped = false;
    {
        RetentionView view;
        view.set_map(synthetic_map({}));
        view.exporter().set_writers({.csv =
                                         [&](std::ostream& out, const engine::RetentionMap&) {
                                             has_begun.release();
                                             try {
                                                 for (;;) // never ends unless `out` throws
                                                     out << "1,2,3\n";
                                             } catch (const std::ios::failure&) {
                                                 was_stopped = true;
                                                 throw;
                                             }
                                         },
                                     .json = {}});
        view.save_as(file.fileName());
        view.save_as(folder.filePath(QStringLiteral("waits.csv")));
        has_begun.acquire();
    }
    QVERIFY(was_stopped);
    QVERIFY(file.open(QIODevice::ReadOnly));
    QCOMPARE(file.readAll(), QByteArray("old"));
    QCOMPARE(QDir(folder.path()).entryList(QDir::Files), QStringList(QStringLiteral("map.csv")));
}

void RetentionViewTest::the_view_follows_the_palette()
{
    RetentionView view;
    view.set_map(synthetic_map({}));
    view.setPalette(palette_of(false));
    show_view(view);
    const QPoint corner(2, view.viewport()->height() - 3);
    EVENTUALLY_EQUAL(view.viewport()->grab().toImage().pixelColor(corner), QColor(239, 240, 241));
    view.setPalette(palette_of(true));
    EVENTUALLY_EQUAL(view.viewport()->grab().toImage().pixelColor(corner), QColor(45, 45, 48));
}

void RetentionViewTest::a_frame_of_ten_million_tokens_is_painted_in_time_data()
{
    QTest::addColumn<uint>("kept");
    QTest::addColumn<bool>("expanded");
    QTest::addColumn<double>("limit_ms");
    QTest::newRow("2,048 a list") << 2048u << false << 16.0;
    QTest::newRow("2,048 a list, heads shown") << 2048u << true << 16.0;
    QTest::newRow("32,768 a list") << 32'768u << false << 33.0; // eight million kept tokens: 30 frames a second
}

// Each frame counts, colours and paints a new map, or a zoom of one.
void RetentionViewTest::a_frame_of_ten_million_tokens_is_painted_in_time()
{
    QFETCH(uint, kept);
    QFETCH(double, limit_ms);
    QFETCH(bool, expanded);
    const MapShape shape{.layers = 32, .kv_heads = 8, .tokens = 10'000'000, .kept = kept, .ragged = false};
    const std::array maps = {
        synthetic_map(shape),
        synthetic_map(
            {.layers = 32, .kv_heads = 8, .tokens = 10'000'000, .kept = kept, .ragged = false, .seed = 2})};
    MapScene scene = MapScene::of(maps[0]);
    scene.rows.expand_all(expanded);
    const RetentionPainter painter(QApplication::font(), palette_of(false));
    QImage picture(1500, 400, QImage::Format_RGB32);
    std::vector<double> milliseconds;
    for (int frame = 0; frame < 60; ++frame) {
        scene.map = maps[static_cast<size_t>(frame % 2)];
        scene.window.reset();
        if (frame % 3 != 0) scene.window.zoom(std::pow(1.25, frame % 20), 9'000'000);
        const double begun = computing_milliseconds();
        QPainter device(&picture);
        painter.paint(device, scene, painter.layout(scene, {0, 0, 1500, 400}), RetentionPainter::Style::Pixels);
        device.end();
        milliseconds.push_back(computing_milliseconds() - begun);
    }
    std::nth_element(milliseconds.begin(), milliseconds.begin() + 30, milliseconds.end());
    qInfo("median frame: %.2f ms", milliseconds[30]);
    QVERIFY2(milliseconds[30] <= limit_ms * sanitizer_factor, qPrintable(QString::number(milliseconds[30])));
}

void RetentionViewTest::memory_does_not_grow_with_the_stream()
{
    RetentionView view;
    view.set_map(synthetic_map({.tokens = 10'000}));
    show_view(view);
    EVENTUALLY(view.is_current());
    const auto map = synthetic_map({.tokens = 4'000'000'000, .kept = 400});
    const uint64_t before = resident_bytes();
    view.set_map(map);
    wait_for_picture(view);
    for (int i = 0; i < 60; ++i) {
        turn_wheel(view, {500, 100}, i < 40 ? 1 : -2);
        EVENTUALLY(view.is_current());
    }
    RetentionTable table;
    table.set_scene(view.scene());
    static_cast<void>(table.as_text());
    const uint64_t grown = resident_bytes() - std::min(before, resident_bytes());
    QVERIFY2(grown < (sanitizer_factor > 1 ? 256u : 24u) << 20, qPrintable(QString::number(grown)));
}

void RetentionViewTest::interactive_widgets_have_names()
{
    RetentionView view;
    view.set_map(synthetic_map({}));
    show_view(view);
    view.show_table();
    for (QAction* const action : view.actions())
        QVERIFY(!action->text().isEmpty() && !action->shortcut().isEmpty());
    QWidgetList widgets = view.findChildren<QWidget*>();
    widgets += &view;
    for (QWidget* const widget : widgets) {
        if (widget->focusPolicy() == Qt::NoFocus || !widget->isVisible() || widget->objectName().startsWith(u"qt_"))
            continue;
        const QAccessibleInterface* const seen = QAccessible::queryAccessibleInterface(widget);
        QVERIFY2(seen && !seen->text(QAccessible::Name).isEmpty(), widget->metaObject()->className());
    }
}

QTEST_MAIN(RetentionViewTest)
#include "view_test.moc"
