// The cells of the map at points, of tokens, and beside other cells, at several zooms and device ratios.
#include <QTest>

#include "tests/ui/map/synthetic_map.h"
#include "ui/map/grid.h"

namespace palimpsest::ui {
namespace {

constexpr QRectF whole_area(0, 0, 640, 320);

// A scene of a map at one zoom, and its grid.
struct Shown {
    Shown(double first, double last, double device_ratio, const QRectF& area = whole_area, double scroll = 0)
        : scene(MapScene::of(synthetic_map({})))
    {
        scene.window.show(first, last);
        layout = RetentionPainter(QFont(), palette_of(false)).layout(scene, area, scroll);
        ratio = device_ratio;
    }

    MapGrid grid() const { return {scene, layout, ratio}; }
    QPointF point(int column, int row) const
    {
        return {layout.plot.left() + (column + 0.5) / ratio, layout.row(row).center().y()};
    }

    MapScene scene;
    MapLayout layout;
    double ratio = 1;
};

// The map at the zoom of the test's current row of data.
Shown shown_zoom()
{
    QFETCH(double, first);
    QFETCH(double, last);
    QFETCH(double, ratio);
    return {first, last, ratio};
}

} // namespace

class MapGridTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void a_point_and_a_token_lead_to_the_same_cell_data() { add_zooms(); }
    void a_point_and_a_token_lead_to_the_same_cell();
    void a_step_leads_to_the_cell_beside_data() { add_zooms(); }
    void a_step_leads_to_the_cell_beside();
    void points_outside_the_plot_have_no_cell();
    void a_token_out_of_view_has_no_cell_but_a_nearest_one();
    void an_empty_map_has_no_cells();
    void scrolling_by_the_distance_shows_the_whole_row();

private:
    static void add_zooms()
    {
        QTest::addColumn<double>("first");
        QTest::addColumn<double>("last");
        QTest::addColumn<double>("ratio");
        for (const double ratio : {1.0, 1.5, 2.0}) {
            QTest::addRow("whole stream, ratio %g", ratio) << 0.0 << 5000.0 << ratio;
            QTest::addRow("about a token a column, ratio %g", ratio) << 1000.5 << 1600.25 << ratio;
            QTest::addRow("many columns a token, ratio %g", ratio) << 4980.0 << 5000.0 << ratio;
        }
    }
};

void MapGridTest::a_point_and_a_token_lead_to_the_same_cell()
{
    const Shown shown = shown_zoom();
    const MapGrid grid = shown.grid();
    const int columns = grid.columns().count(), rows = shown.scene.rows.count();
    QVERIFY(columns > 300 && rows == 6);
    for (int column = 0; column < columns; ++column) {
        const int row = column % rows;
        const auto cell = grid.cell_at(shown.point(column, row));
        QVERIFY(cell);
        QCOMPARE(cell->row, shown.scene.rows.at(row));
        QVERIFY(cell->tokens.first < cell->tokens.last && cell->tokens.last <= 5000);
        // Several columns may show the same token; cell_of() returns the first of them, which shows the same
        // tokens.
        QCOMPARE(grid.cell_of(cell->row, cell->tokens.last - 1)->tokens.last, cell->tokens.last);
        QCOMPARE(grid.nearest_cell(cell->row, cell->tokens.last - 1)->tokens,
                 grid.cell_of(cell->row, cell->tokens.last - 1)->tokens);
    }
    QCOMPARE(grid.middle_cell()->row, shown.scene.rows.at(0));
    QCOMPARE(grid.middle_cell()->tokens, grid.columns().tokens(columns / 2));
}

void MapGridTest::a_step_leads_to_the_cell_beside()
{
    const Shown shown = shown_zoom();
    const MapGrid grid = shown.grid();
    const MapRow row = shown.scene.rows.at(2);
    for (int column = 3; column + 3 < grid.columns().count(); ++column) {
        const MapCell cell{row, grid.columns().tokens(column)};
        const uint64_t right = grid.token_beside(cell, 1), left = grid.token_beside(cell, -1);
        QVERIFY(right >= cell.tokens.last && left < cell.tokens.first);
        // Not a cell too far, except by the token that a rounded edge may add.
        QVERIFY(right <= grid.columns().tokens(column + 1).last + 1);
        QVERIFY(left + 1 >= std::min(cell.tokens.first, grid.columns().tokens(column - 1).first));
    }
    QCOMPARE(grid.token_beside({row, {0, 1}}, -5), uint64_t{0});
}

void MapGridTest::points_outside_the_plot_have_no_cell()
{
    const Shown shown(0, 5000, 1);
    const MapGrid grid = shown.grid();
    const QRectF plot = shown.layout.plot;
    QVERIFY(grid.cell_at(plot.topLeft() + QPointF(0.5, 0.5)));
    QVERIFY(grid.cell_at(plot.bottomRight() - QPointF(0.5, 0.5)));
    for (const QPointF& outside :
         {QPointF(plot.left() - 0.5, plot.center().y()), QPointF(plot.right() + 1, plot.center().y()),
          QPointF(plot.center().x(), plot.top() - 0.5), QPointF(plot.center().x(), plot.bottom() + 0.5)})
        QVERIFY(!grid.cell_at(outside));
}

void MapGridTest::a_token_out_of_view_has_no_cell_but_a_nearest_one()
{
    const Shown shown(1000, 2000, 1);
    const MapGrid grid = shown.grid();
    const MapRow row = shown.scene.rows.at(1);
    QVERIFY(!grid.cell_of(row, 900));
    QVERIFY(!grid.cell_of(row, 2100));
    QCOMPARE(grid.nearest_cell(row, 900)->tokens, grid.columns().tokens(0));
    QCOMPARE(grid.nearest_cell(row, 2100)->tokens, grid.columns().tokens(grid.columns().count() - 1));
}

void MapGridTest::an_empty_map_has_no_cells()
{
    const MapScene scene;
    const MapLayout layout = RetentionPainter(QFont(), palette_of(false)).layout(scene, whole_area);
    const MapGrid grid(scene, layout, 1);
    QCOMPARE(grid.columns().count(), 0);
    QVERIFY(!grid.cell_at(layout.plot.center()));
    QVERIFY(!grid.middle_cell());
    QVERIFY(!grid.cell_of({0, -1}, 0));
    QVERIFY(!grid.nearest_cell({0, -1}, 0));
}

void MapGridTest::scrolling_by_the_distance_shows_the_whole_row()
{
    Shown shown(0, 5000, 1);
    shown.scene.rows.expand_all(true); // 30 rows: more than fit
    const QRectF low(0, 0, 640, 200);
    const RetentionPainter painter(QFont(), palette_of(false));
    for (const double scroll : {0.0, 37.0, 90.0}) {
        const MapLayout layout = painter.layout(shown.scene, low, scroll);
        QVERIFY(layout.rows_height > layout.plot.height());
        for (int row = 0; row < shown.scene.rows.count(); ++row) {
            const int distance = MapGrid(shown.scene, layout, 1).distance_to_row(row);
            const MapLayout scrolled = painter.layout(shown.scene, low, layout.scroll + distance);
            QVERIFY(scrolled.row(row).top() >= scrolled.plot.top() - 1e-6);
            QVERIFY(scrolled.row(row).bottom() <= scrolled.plot.bottom() + 1e-6);
            const QRectF at = layout.row(row);
            const bool was_inside = at.top() >= layout.plot.top() && at.bottom() <= layout.plot.bottom();
            QCOMPARE(distance == 0, was_inside);
        }
    }
}

} // namespace palimpsest::ui

QTEST_MAIN(palimpsest::ui::MapGridTest)
#include "grid_test.moc"
