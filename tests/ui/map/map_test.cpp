// The map without its widget: the tokens of a column, the counts of a cell, pictures, tables and exports.

#include <QAbstractItemModelTester>
#include <QBuffer>
#include <QImage>
#include <QPainter>
#include <QSvgRenderer>
#include <QTemporaryDir>
#include <QtTest>
#include <array>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <sstream>

#include "engine/cache/retention_export.h"
#include "kernels/base/error.h"
#include "storage/session/retention_report.h"
#include "storage/session/store.h"
#include "storage/session/stored_session.h"
#include "tests/support/project_folders.h"
#include "tests/ui/map/synthetic_map.h"
#include "ui/base/theme.h"
#include "ui/engine/facts.h"
#include "ui/map/cells.h"
#include "ui/map/colors.h"
#include "ui/map/export.h"
#include "ui/map/lists.h"
#include "ui/map/painter.h"
#include "ui/map/place.h"
#include "ui/map/readout.h"
#include "ui/map/table.h"

using namespace palimpsest;
using namespace palimpsest::ui;

namespace {

double lightness(QRgb color) // L of CIE L*a*b*; the colours themselves are made in another space, OKLab
{
    const auto linear = [](int channel) {
        const double c = channel / 255.0;
        return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
    };
    const double y = 0.2126 * linear(qRed(color)) + 0.7152 * linear(qGreen(color)) + 0.0722 * linear(qBlue(color));
    return y > 0.008856 ? 116 * std::cbrt(y) - 16 : 903.3 * y;
}

double oklab_distance(QRgb x, QRgb y)
{
    const auto lab = [](QRgb rgb) {
        const auto linear = [](int channel) {
            const double c = channel / 255.0;
            return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
        };
        const double r = linear(qRed(rgb)), g = linear(qGreen(rgb)), b = linear(qBlue(rgb));
        const double l = std::cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
        const double m = std::cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
        const double s = std::cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
        return std::array{0.2104542553 * l + 0.7936177850 * m - 0.0040720468 * s,
                          1.9779984951 * l - 2.4285922050 * m + 0.4505937099 * s,
                          0.0259040371 * l + 0.7827717662 * m - 0.8086757660 * s};
    };
    const auto a = lab(x), b = lab(y);
    return std::hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);
}

// Simulates how a reader without one kind of cones sees a colour (Viénot, Brettel, Mollon 1999), in linear light.
QRgb seen_without(bool red_cones, QRgb rgb)
{
    const auto linear = [](int c) { return std::pow(c / 255.0, 2.2); };
    const auto byte = [](double c) { return int(std::lround(255 * std::pow(std::clamp(c, 0.0, 1.0), 1 / 2.2))); };
    const double r = linear(qRed(rgb)), g = linear(qGreen(rgb)), b = linear(qBlue(rgb));
    const double yellow = red_cones ? 0.11238 * r + 0.88762 * g : 0.29275 * r + 0.70725 * g;
    const double blue = red_cones ? 0.00401 * r - 0.00401 * g + b : -0.02234 * r + 0.02234 * g + b;
    return qRgb(byte(yellow), byte(yellow), byte(blue));
}

MapScene scene_of(std::shared_ptr<engine::RetentionMap> map, uint64_t length = 0)
{
    return MapScene::of(std::move(map), length);
}

QImage png_image(const MapScene& scene, MapPictureOptions options)
{
    return QImage::fromData(map_png(scene, options), "PNG");
}

QImage svg_image(const MapScene& scene, const MapPictureOptions& options)
{
    QSvgRenderer renderer(map_svg(scene, options));
    QImage image(renderer.viewBox().size(), QImage::Format_RGB32);
    image.fill(Qt::magenta);
    QPainter painter(&image);
    renderer.render(&painter, QRectF(QPointF(), QSizeF(image.size())));
    return image;
}

MapLayout layout_of(const MapScene& scene, const MapPictureOptions& options)
{
    const RetentionPainter painter(options.font, options.palette);
    return painter.layout(scene, {0, 0, options.width, std::ceil(painter.natural_height(scene, options.width))});
}

// Returns the paths of all members, such as "/policy/budgets/cap", without those inside arrays.
std::set<std::string> members_of(const nlohmann::json& object, const std::string& path = {})
{
    std::set<std::string> members;
    if (!object.is_object()) return members;
    for (const auto& [key, value] : object.items()) {
        const std::string member = path + '/' + key;
        members.insert(member);
        members.merge(members_of(value, member));
    }
    return members;
}

// A stored session with a text and a pin.
class ReadSession {
public:
    ReadSession()
    {
        std::istringstream text("The keeper lit the lamp and wrote the day into the book. The keeper slept.");
        storage::Document document = storage::Document::of_text("Ashford", text);
        session_.read(document);
        session_.pin(engine::TokenRange{2, 6}, "keeper");
    }
    storage::StoredSession& operator*() { return session_; }
    std::shared_ptr<SessionFacts> facts()
    {
        return std::make_shared<SessionFacts>(facts_of(session_, store_, true, {}, known_));
    }

private:
    static storage::StoredOptions options()
    {
        storage::StoredOptions options{.choice = {}};
        options.choice.budget = "32";
        options.choice.chunk = 16;
        options.model = engine::Model::load(tests::source_file("tests/fixtures/models/llama.f32.gguf"),
                                            kernels::open_backend({.device = "cpu", .threads = 1, .simd = ""}));
        return options;
    }

    storage::Store store_; // in memory
    storage::Listener listener_;
    storage::StoredSession session_{store_, "Ashford", options(), listener_};
    KnownDocuments known_;
};

nlohmann::json exported(std::shared_ptr<const SessionFacts> facts, const engine::RetentionMap& map)
{
    std::ostringstream out;
    writers_of(std::move(facts), {.cache_bytes = 1000}).json(out, map);
    return nlohmann::json::parse(out.str());
}

} // namespace

class MapTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void the_highest_layer_is_on_top_and_heads_follow_expanded_layers();
    void the_visible_range_stays_within_the_stream();
    void zoom_keeps_the_token_under_the_cursor();
    void the_readout_names_the_first_and_the_last_visible_token();
    void columns_cover_whole_tokens_and_leave_none_out();
    void cells_equal_a_plain_count_data();
    void cells_equal_a_plain_count();
    void cells_of_huge_maps_equal_a_plain_count();
    void colours_change_their_lightness_steadily_in_equal_steps();
    void nothing_kept_little_kept_and_unread_have_different_colours();
    void pixels_have_the_colour_of_their_count_data();
    void pixels_have_the_colour_of_their_count();
    void svg_and_png_have_the_same_cells_data();
    void svg_and_png_have_the_same_cells();
    void the_size_of_an_svg_does_not_grow_with_the_stream();
    void text_is_readable_in_light_and_dark();
    void facts_of_a_cell_have_its_rank_and_the_heads_that_keep_it();
    void only_nothing_is_0_percent_and_only_everything_100();
    void the_table_passes_the_item_model_tester();
    void the_table_names_headings_and_pages();
    void the_table_equals_a_plain_count();
    void exports_write_all_formats_and_refuse_others();
    void a_failed_export_keeps_the_old_file();
    void an_export_has_every_member_that_the_command_prints();
    void an_export_during_reading_counts_the_tokens_of_its_map();
    void a_png_of_very_many_rows_is_reduced_and_painted_to_its_end();
    void titles_of_sections_are_one_plain_line();
};

void MapTest::the_highest_layer_is_on_top_and_heads_follow_expanded_layers()
{
    MapRows rows(3, 2);
    QCOMPARE(rows.count(), 3);
    QCOMPARE(rows.at(0).layer, 2);
    rows.set_expanded(1, true);
    QCOMPARE(rows.count(), 5);
    QVERIFY((rows.at(1) == MapRow{1, -1}));
    QVERIFY((rows.at(2) == MapRow{1, 1}));
    QVERIFY((rows.at(3) == MapRow{1, 0}));
    QCOMPARE(rows.index_of({1, 0}), 3);
    QCOMPARE(rows.index_of({0, 1}), 4); // head 1 of layer 0 is not shown: the row of its layer
    QCOMPARE(rows.index_of({3, 0}), -1);
    rows.expand_all(true);
    QCOMPARE(rows.count(), 9);
    MapRows single(4, 1);
    single.expand_all(true);
    QCOMPARE(single.count(), 4);
}

void MapTest::the_visible_range_stays_within_the_stream()
{
    std::mt19937 random(7);
    std::uniform_real_distribution<> real(-1, 1);
    for (const uint64_t length : {uint64_t{0}, uint64_t{1}, uint64_t{5}, uint64_t{1000}, uint64_t{10'000'000}}) {
        VisibleRange window(length);
        for (int i = 0; i < 2000; ++i) {
            if (i % 3 == 0) window.zoom(std::pow(10, 3 * real(random)), real(random) * 2 * double(length));
            if (i % 3 == 1) window.pan(real(random) * double(length));
            if (i % 3 == 2 && length > 0) {
                const uint64_t token = random() % length;
                window.reveal(token);
                QVERIFY(window.first() <= double(token) && double(token) + 1 <= window.last() + 1e-6);
            }
            QVERIFY(window.first() >= 0 && window.last() <= double(length));
            QVERIFY(window.span() >= std::min(VisibleRange::least_span, double(length)) - 1e-6);
        }
        window.reset();
        QVERIFY(window.is_whole());
        window.set_length(length + 100);
        QVERIFY(window.is_whole()); // a range that shows the whole stream still shows all of it
    }
    VisibleRange zoomed(1000);
    zoomed.show(100, 200);
    zoomed.set_length(2000);
    QCOMPARE(zoomed.first(), 100.0);
    QCOMPARE(zoomed.last(), 200.0);
    zoomed.set_length(150);
    QCOMPARE(zoomed.last(), 150.0);
}

void MapTest::the_readout_names_the_first_and_the_last_visible_token()
{
    QLocale::setDefault(QLocale(QLocale::English, QLocale::UnitedStates));
    const MapScene scene = scene_of(synthetic_map({.tokens = 30'000}));
    QCOMPARE(MapReadout::text_of(scene, {}), QStringLiteral("30,000 tokens read, 0 to 29,999 shown"));
    QCOMPARE(MapReadout::text_of({}, {}), QString());
}

void MapTest::zoom_keeps_the_token_under_the_cursor()
{
    VisibleRange window(10'000'000);
    const double at = 1'234'567.0;
    window.zoom(100, at);
    for (int i = 0; i < 10; ++i) {
        const double share = (at - window.first()) / window.span();
        window.zoom(1.25, at);
        QVERIFY(std::abs((at - window.first()) / window.span() - share) < 1e-6);
    }
}

void MapTest::columns_cover_whole_tokens_and_leave_none_out()
{
    std::mt19937 random(11);
    for (const uint64_t length : {uint64_t{1}, uint64_t{7}, uint64_t{300}, uint64_t{9'999'991}})
        for (int i = 0; i < 40; ++i) {
            VisibleRange window(length);
            if (i > 0) window.zoom(1 + random() % 1000, double(random() % length));
            const TokenColumns columns(window, 1 + static_cast<int>(random() % 1700));
            uint64_t next = columns.tokens(0).first;
            for (int column = 0; column < columns.count(); ++column) {
                const StreamRange tokens = columns.tokens(column);
                QVERIFY(tokens.first < tokens.last && tokens.last <= length);
                QVERIFY(tokens.first <= next); // no token is left out
                if (columns.tokens_per_column() >= 2) QCOMPARE(tokens.first, next);
                next = tokens.last;
                const int found = columns.column_of(tokens.first);
                QVERIFY(columns.tokens(found).first <= tokens.first && tokens.first < columns.tokens(found).last);
            }
            QVERIFY(double(next) + 1 >= std::floor(window.last()));
        }
    QCOMPARE(TokenColumns(VisibleRange(0), 100).count(), 0);
}

void MapTest::cells_equal_a_plain_count_data()
{
    QTest::addColumn<int>("columns");
    QTest::addColumn<double>("first");
    QTest::addColumn<double>("last");
    QTest::newRow("whole, wide cells") << 100 << 0.0 << 6000.0;
    QTest::newRow("whole, a few tokens a cell") << 1500 << 0.0 << 6000.0;
    QTest::newRow("between one and two tokens") << 1000 << 3000.3 << 4501.7;
    QTest::newRow("a token is wider than a cell") << 1500 << 4600.25 << 4780.5;
    QTest::newRow("the end, partly unread") << 300 << 4200.0 << 6000.0;
    QTest::newRow("least span") << 777 << 4992.0 << 5000.0;
}

void MapTest::cells_equal_a_plain_count()
{
    QFETCH(int, columns);
    QFETCH(double, first);
    QFETCH(double, last);
    const auto map = synthetic_map({});
    MapRows rows(map->layers, map->kv_heads);
    rows.set_expanded(2, true);
    rows.set_expanded(5, true);
    VisibleRange window(6000); // the last 1,000 tokens are not read yet
    window.show(first, last);
    const TokenColumns divided(window, columns);
    const MapCells cells = count_cells(*map, rows.all(), divided);
    QCOMPARE(cells.rows, rows.count());
    for (int row = 0; row < cells.rows; ++row)
        for (int column = 0; column < columns; ++column) {
            const StreamRange tokens = divided.tokens(column);
            const MapRow& which = rows.at(row);
            QCOMPARE(uint64_t{cells.kept_at(row, column)},
                     plain_count(*map, which.layer, which.head, tokens.first, tokens.last));
            const uint64_t read = std::min(tokens.last, uint64_t{5000}) - std::min(tokens.first, uint64_t{5000});
            QCOMPARE(cells.pairs_at(row, column), read * (which.is_layer() ? 4 : 1));
        }
}

void MapTest::cells_of_huge_maps_equal_a_plain_count()
{
    std::mt19937 random(3);
    // Few tokens are counted one by one, many by one search per column edge.
    for (const uint32_t kept : {2048u, 60'000u}) {
        const auto map =
            synthetic_map({.layers = 2, .kv_heads = 2, .tokens = 10'000'000, .kept = kept, .ragged = false});
        const MapRows rows(2, 2);
        for (const double factor : {1.0, 17.0, 900.0}) {
            VisibleRange window(10'000'000);
            window.zoom(factor, 9'990'000);
            const TokenColumns divided(window, 1500);
            const MapCells cells = count_cells(*map, rows.all(), divided);
            for (int i = 0; i < 300; ++i) {
                const int column = static_cast<int>(random() % 1500), row = static_cast<int>(random() % 2);
                const StreamRange tokens = divided.tokens(column);
                QCOMPARE(uint64_t{cells.kept_at(row, column)},
                         plain_count(*map, rows.at(row).layer, -1, tokens.first, tokens.last));
            }
        }
    }
}

void MapTest::colours_change_their_lightness_steadily_in_equal_steps()
{
    for (const bool dark : {false, true}) {
        const RetentionColors& colors = RetentionColors::of(dark);
        const double direction = dark ? 1 : -1;
        for (int level = 8; level < RetentionColors::levels; ++level) {
            QVERIFY(direction * (lightness(colors.at(level)) - lightness(colors.at(level - 7))) > 0);
            for (const bool red_cones : {false, true})
                QVERIFY(direction * (lightness(seen_without(red_cones, colors.at(level))) -
                                     lightness(seen_without(red_cones, colors.at(level - 7)))) >
                        0);
        }
        // Compares colours far enough apart that rounding to bytes does not matter.
        double least = 1e9, most = 0;
        constexpr int step = 32;
        for (int level = 1; level + step < RetentionColors::levels; level += step) {
            const double d = oklab_distance(colors.at(level), colors.at(level + step));
            least = std::min(least, d);
            most = std::max(most, d);
        }
        QVERIFY2(most / least < 1.1, qPrintable(QString::number(most / least)));
    }
}

void MapTest::nothing_kept_little_kept_and_unread_have_different_colours()
{
    QCOMPARE(RetentionColors::level(0, 1'000'000), 0);
    QCOMPARE(RetentionColors::level(1, 4'000'000'000), 1 + int(std::lround(std::cbrt(1 / 4e9) * 254)));
    QVERIFY(RetentionColors::level(1, 4'000'000'000) > 0);
    QCOMPARE(RetentionColors::level(8, 8), 255);
    for (const bool dark : {false, true}) {
        const RetentionColors& colors = RetentionColors::of(dark);
        for (const auto seen : {+[](QRgb c) { return c; }, +[](QRgb c) { return seen_without(true, c); },
                                +[](QRgb c) { return seen_without(false, c); }}) {
            const double one_step = oklab_distance(seen(colors.at(1)), seen(colors.at(2)));
            QVERIFY(oklab_distance(seen(colors.at(0)), seen(colors.at(1))) > 0.08);
            QVERIFY(oklab_distance(seen(colors.at(0)), seen(colors.at(1))) > 10 * one_step);
            QVERIFY(oklab_distance(seen(colors.at(0)), seen(colors.hatching().rgb())) > 0.08);
        }
    }
}

void MapTest::pixels_have_the_colour_of_their_count_data()
{
    QTest::addColumn<bool>("dark");
    QTest::addColumn<double>("scale");
    for (const bool dark : {false, true})
        for (const double scale : {1.0, 1.25, 1.5, 2.0})
            QTest::addRow("%s at %g", dark ? "dark" : "light", scale) << dark << scale;
}

// At random places, computes the row and the tokens of a pixel from the layout, counts them in lists as `inspect
// --json` writes them, and expects the colour of that count.
void MapTest::pixels_have_the_colour_of_their_count()
{
    QFETCH(bool, dark);
    QFETCH(double, scale);
    const auto map = synthetic_map({.layers = 12, .kv_heads = 4, .tokens = 120'000, .kept = 2048});
    nlohmann::json heads;
    for (int32_t l = 0; l < 12; ++l)
        for (int32_t h = 0; h < 4; ++h)
            heads[std::to_string(l)][std::to_string(h)] = map->of(l, h);
    std::mt19937 random(5);
    int places = 0;
    for (const double factor : {1.0, 9.0, 700.0}) {
        MapScene scene = scene_of(map);
        scene.rows.set_expanded(3, true);
        scene.rows.set_expanded(11, true);
        scene.window.zoom(factor, 110'000);
        MapPictureOptions options{.font = {}, .palette = palette_of(dark), .width = 900, .scale = scale};
        const MapLayout layout = layout_of(scene, options);
        const QImage image = png_image(scene, options);
        const int left = int(std::lround(layout.plot.left() * scale));
        const int columns = int(std::lround(layout.plot.width() * scale));
        for (int i = 0; i < 340; ++i, ++places) {
            const int column = int(random() % unsigned(columns));
            const int row = int(random() % unsigned(scene.rows.count()));
            const double at = scene.window.first() + scene.window.span() * column / columns;
            const double to = scene.window.first() + scene.window.span() * (column + 1) / columns;
            const auto first = uint64_t(at), last = std::max(first + 1, uint64_t(to));
            uint64_t kept = 0, lists = 0;
            for (const auto& [head, tokens] : heads[std::to_string(scene.rows.at(row).layer)].items()) {
                if (scene.rows.at(row).head >= 0 && std::to_string(scene.rows.at(row).head) != head) continue;
                ++lists;
                for (const uint64_t token : tokens)
                    kept += token >= first && token < last;
            }
            const double y = layout.plot.top() + (row + 0.5) * layout.row_height;
            const QRgb pixel = image.pixel(left + column, int(y * scale));
            QCOMPARE(pixel, RetentionColors::of(dark).at(RetentionColors::level(kept, lists * (last - first))));
        }
    }
    QVERIFY(places >= 1000);
}

void MapTest::svg_and_png_have_the_same_cells_data()
{
    QTest::addColumn<bool>("dark");
    QTest::newRow("light") << false;
    QTest::newRow("dark") << true;
}

void MapTest::svg_and_png_have_the_same_cells()
{
    QFETCH(bool, dark);
    MapScene scene = scene_of(synthetic_map({.layers = 8, .kv_heads = 2, .tokens = 30'000, .kept = 900}), 36'000);
    scene.rows.set_expanded(2, true);
    scene.title = QStringLiteral("The Chronicle of Ashford");
    MapPictureOptions options{.font = {}, .palette = palette_of(dark), .width = 1000, .scale = 1};
    const QImage png = png_image(scene, options), svg = svg_image(scene, options);
    QCOMPARE(svg.size(), png.size());
    const MapLayout layout = layout_of(scene, options);
    const int read = int(layout.plot.width() * 30'000 / 36'000) - 1;
    for (int row = 0; row < scene.rows.count(); ++row)
        for (int column = 0; column < read; ++column) {
            const int x = int(layout.plot.left()) + column, y = int(layout.row(row).center().y());
            QCOMPARE(svg.pixel(x, y), png.pixel(x, y));
        }
}

void MapTest::the_size_of_an_svg_does_not_grow_with_the_stream()
{
    MapPictureOptions options = print_options();
    options.width = 800;
    const auto bytes = [&](uint64_t tokens) {
        return map_svg(scene_of(synthetic_map({.layers = 4, .kv_heads = 2, .tokens = tokens, .kept = 2000})),
                       options)
            .size();
    };
    QVERIFY(bytes(10'000'000) < 3 * bytes(20'000));
}

void MapTest::text_is_readable_in_light_and_dark()
{
    for (const bool dark : {false, true}) {
        const RetentionPainter painter({}, palette_of(dark));
        QVERIFY(contrast(painter.text(), painter.background()) >= 4.5);
        QVERIFY(contrast(painter.quiet(), painter.background()) >= 4.5);
        QVERIFY(contrast(painter.mark(), painter.background()) >= 4.5);
    }
    const MapPictureOptions print = print_options();
    const RetentionPainter painter(print.font, print.palette);
    QVERIFY(contrast(painter.quiet(), painter.background()) >= 4.5);
}

void MapTest::facts_of_a_cell_have_its_rank_and_the_heads_that_keep_it()
{
    engine::RetentionMap map{
        .layers = 2, .kv_heads = 2, .tokens_seen = 100, .tokens = {{0, 5, 9}, {9}, {}, {5, 9, 99}}};
    CellFacts facts = facts_of(map, {{0, 0}, {6, 20}});
    QCOMPARE(facts.count.kept, uint64_t{1});
    QCOMPARE(facts.count.pairs, uint64_t{14});
    QCOMPARE(facts.token, uint64_t{9});
    QCOMPARE(*facts.rank, uint64_t{2});
    QCOMPARE(facts.list_length, uint64_t{3});
    QCOMPARE(facts.held_in_layer, 2);
    QCOMPARE(facts.held_in_all, 3);
    QCOMPARE(facts.lists, 4);
    facts = facts_of(map, {{1, -1}, {0, 10}});
    QCOMPARE(facts.count.kept, uint64_t{2});
    QCOMPARE(facts.count.pairs, uint64_t{20});
    QCOMPARE(facts.token, uint64_t{5});
    QVERIFY(!facts.rank);
    facts = facts_of(map, {{1, 0}, {98, 120}}); // partly unread
    QCOMPARE(facts.count.pairs, uint64_t{2});
    const MapCell place{{0, 1}, {9, 10}};
    const QString sentence = cell_sentence(place, facts_of(map, place), map.tokens_seen);
    QVERIFY(sentence.contains(row_name({0, 1})) && sentence.contains(QLatin1String("100")));
    QVERIFY(cell_sentence({{0, 1}, {200, 210}}, facts_of(map, {{0, 1}, {200, 210}}), 100) != sentence);
}

void MapTest::only_nothing_is_0_percent_and_only_everything_100()
{
    QVERIFY(percentage(0).startsWith(QLatin1Char('0')));
    QVERIFY(percentage(1).startsWith(QLatin1String("100")));
    for (const double share : {0.00001, 0.0004, 0.9999, 0.99999}) {
        QVERIFY2(percentage(share) != percentage(0), qPrintable(percentage(share)));
        QVERIFY2(percentage(share) != percentage(1), qPrintable(percentage(share)));
        QVERIFY(!percentage(share).startsWith(QLatin1String("100")));
    }
}

void MapTest::the_table_passes_the_item_model_tester()
{
    RetentionTable table;
    QAbstractItemModelTester tester(&table, QAbstractItemModelTester::FailureReportingMode::Fatal);
    QCOMPARE(table.rowCount(), 0);
    MapScene scene = scene_of(synthetic_map({}));
    table.set_scene(scene);
    QCOMPARE(table.rowCount(), 6);
    QCOMPARE(table.columnCount(), 10);
    QSignalSpy reset(&table, &QAbstractItemModel::modelReset), changed(&table, &QAbstractItemModel::dataChanged);
    scene.map = synthetic_map({.seed = 2});
    table.set_scene(scene);
    QCOMPARE(reset.count(), 0); // so that the reader stays in his cell
    QCOMPARE(changed.count(), 1);
    scene.rows.set_expanded(0, true);
    scene.marks.sections = {
        {0, QStringLiteral("One")}, {2500, QStringLiteral("Two")}, {7000, QStringLiteral("Beyond")}};
    table.set_scene(scene);
    QCOMPARE(reset.count(), 1);
    QCOMPARE(table.rowCount(), 10);
    QCOMPARE(table.columnCount(), 3);
    table.set_columns(RetentionTable::Columns::Tenths);
    QCOMPARE(table.columnCount(), 10);
    QVERIFY(!table.data(table.index(0, 0), Qt::AccessibleTextRole).toString().isEmpty());
    table.set_scene({});
    QCOMPARE(table.rowCount(), 0);
    QCOMPARE(table.columnCount(), 0);
}

void MapTest::the_table_names_headings_and_pages()
{
    SessionFacts facts;
    DocumentPart part;
    part.info.title = "A book";
    part.range = {0, 5000};
    part.sections = {{.title = "One", .first_token = 100, .first_byte = 0},
                     {.title = "Two", .first_token = 2500, .first_byte = 0}};
    part.pages = {{"xii", 0, 0}, {"1", 1000, 9}, {"2", 2600, 9}};
    facts.documents = {part};
    MapScene scene = scene_of(synthetic_map({}));
    scene.marks = marks_of(facts);
    RetentionTable table;
    table.set_scene(scene);
    const auto header = [&](int column, int role) {
        return table.headerData(column, Qt::Horizontal, role).toString();
    };
    QCOMPARE(header(0, Qt::DisplayRole), QStringLiteral("A book · page xii"));
    QCOMPARE(header(1, Qt::DisplayRole), QStringLiteral("One · pages xii–1"));
    QCOMPARE(header(2, Qt::DisplayRole), QStringLiteral("Two · pages 1–2"));
    table.set_columns(RetentionTable::Columns::Tenths);
    QVERIFY(!header(1, Qt::DisplayRole).contains(QStringLiteral("One")));
    QVERIFY(header(1, Qt::ToolTipRole).endsWith(QStringLiteral(" · One · page xii")));
    QVERIFY(header(5, Qt::ToolTipRole).endsWith(QStringLiteral(" · Two · pages 1–2")));
    QVERIFY(table.index(0, 5).data(Qt::AccessibleTextRole).toString().contains(QStringLiteral("Two · pages 1–2")));
    QVERIFY(table.as_text().contains(QStringLiteral("Two · pages 1–2")));
}

void MapTest::the_table_equals_a_plain_count()
{
    const auto map = synthetic_map({});
    RetentionTable table;
    MapScene scene = scene_of(map);
    scene.rows.set_expanded(4, true);
    for (const bool sections : {false, true}) {
        if (sections) scene.marks.sections = {{0, QStringLiteral("One")}, {1234, QStringLiteral("Two")}};
        table.set_scene(scene);
        for (int row = 0; row < table.rowCount(); ++row) {
            uint64_t sum = 0;
            for (int column = 0; column < table.columnCount(); ++column) {
                const StreamRange tokens = sections
                                               ? (column == 0 ? StreamRange{0, 1234} : StreamRange{1234, 5000})
                                               : StreamRange{uint64_t(column) * 500, uint64_t(column + 1) * 500};
                const MapRow& which = scene.rows.at(row);
                const uint64_t kept = plain_count(*map, which.layer, which.head, tokens.first, tokens.last);
                const QModelIndex cell = table.index(row, column);
                QCOMPARE(cell.data(RetentionTable::KeptRole).toULongLong(), qulonglong(kept));
                QCOMPARE(cell.data(RetentionTable::PairsRole).toULongLong(),
                         qulonglong((tokens.last - tokens.first) * (which.is_layer() ? 4 : 1)));
                sum += kept;
            }
            QCOMPARE(sum, plain_count(*map, scene.rows.at(row).layer, scene.rows.at(row).head, 0, 5000));
        }
    }
    QCOMPARE(table.as_text().count(QLatin1Char('\n')), table.rowCount());
}

void MapTest::exports_write_all_formats_and_refuse_others()
{
    const QTemporaryDir folder;
    MapScene scene = scene_of(synthetic_map({}));
    const MapWriters writers{
        .csv = [](std::ostream& out, const engine::RetentionMap&) { out << "layer,head,token\n"; },
        .json = [](std::ostream& out, const engine::RetentionMap& map) { out << map.layers; }};
    const auto written = [&](const QString& name) {
        write_file(folder.filePath(name), map_file(name, scene, print_options(), writers));
        QFile file(folder.filePath(name));
        return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
    };
    QVERIFY(written(QStringLiteral("a.png")).startsWith("\x89PNG"));
    QVERIFY(written(QStringLiteral("a.svg")).contains("<svg"));
    QCOMPARE(written(QStringLiteral("a.csv")), QByteArray("layer,head,token\n"));
    QCOMPARE(written(QStringLiteral("a.json")), QByteArray("6"));
    QVERIFY_EXCEPTION_THROWN(written(QStringLiteral("a.gif")), Error);
    const QString without_writer = folder.filePath(QStringLiteral("b.csv"));
    QVERIFY_EXCEPTION_THROWN(write_file(without_writer, map_file(without_writer, scene, print_options(), {})),
                             Error);
    QVERIFY(!QFile::exists(without_writer));
}

void MapTest::a_failed_export_keeps_the_old_file()
{
    const QTemporaryDir folder;
    const QString name = folder.filePath(QStringLiteral("a.csv"));
    QFile old(name);
    QVERIFY(old.open(QIODevice::WriteOnly));
    old.write("old");
    old.close();
    const MapWriters broken{.csv = [](std::ostream&, const engine::RetentionMap&) { throw std::bad_alloc(); },
                            .json = {}};
    const MapScene scene = scene_of(synthetic_map({}));
    QVERIFY_EXCEPTION_THROWN(write_file(name, map_file(name, scene, print_options(), broken)), std::bad_alloc);
    QVERIFY(old.open(QIODevice::ReadOnly));
    QCOMPARE(old.readAll(), QByteArray("old"));
    const QString nowhere = folder.filePath(QStringLiteral("no/where.png"));
    QVERIFY_EXCEPTION_THROWN(write_file(nowhere, map_file(nowhere, scene, print_options(), {})), Error);
}

// The command builds its JSON from the session, the window builds it from the session facts; both must agree.
void MapTest::an_export_has_every_member_that_the_command_prints()
{
    ReadSession read;
    engine::Session& session = (*read).session();
    const engine::RetentionMap map = session.retention();
    std::ostringstream out;
    engine::write_json(out, storage::RetentionReport::of(*read).json(map, session.telemetry()), map, {});
    const auto printed = nlohmann::json::parse(out.str());
    const nlohmann::json json = exported(read.facts(), map);
    std::set<std::string> members = members_of(printed);
    for (const char* member : {"/coverage/tokens_read", "/protocol", "/memory/cache_bytes", "/pins/ranges",
                               "/policy/budgets/layers", "/model/fingerprint", "/heads"})
        QVERIFY2(members.contains(member), member);
    members.insert("/session");
    QVERIFY(members_of(json) == members);
    for (const char* key : {"model", "policy", "protocol", "tokens_seen", "coverage", "reach", "pins", "heads"})
        QVERIFY2(json.at(key) == printed.at(key), key);
    QCOMPARE(json.at("session").get<std::string>(), std::string("Ashford"));
    QCOMPARE(json.at("memory").at("cache_bytes").get<int>(), 1000);
    QCOMPARE(json.at("pins").at("tokens").get<int>(), 4);
}

void MapTest::an_export_during_reading_counts_the_tokens_of_its_map()
{
    ReadSession read;
    const auto facts = read.facts();
    auto report = std::make_shared<storage::RetentionReport>(*facts->report);
    const uint64_t all = report->coverage.tokens_in_input;
    QVERIFY(all > 4);
    report->coverage.tokens_read = 0; // as if the facts were published before the reading
    facts->report = report;
    engine::RetentionMap map = (*read).session().retention();
    for (auto& list : map.tokens)
        list.clear();
    map.tokens_seen = facts->documents.front().range.first + all - 3;
    QCOMPARE(exported(facts, map).at("coverage").at("tokens_read").get<uint64_t>(), all - 3);
    facts->report = nullptr; // a session without its model has no report
    QVERIFY(!writers_of(facts, {}).json);
}

// With 80 layers of 64 KV heads, the rows at the usual scale are higher than QPainter's limit of 32,767 pixels.
void MapTest::a_png_of_very_many_rows_is_reduced_and_painted_to_its_end()
{
    MapScene scene =
        scene_of(synthetic_map({.layers = 80, .kv_heads = 64, .tokens = 400, .kept = 400, .ragged = false}));
    scene.rows.expand_all(true);
    MapPictureOptions options{.font = {}, .palette = palette_of(false), .width = 200};
    const QImage image = png_image(scene, options);
    QVERIFY(!image.isNull() && image.height() <= 32767);
    const MapLayout layout = layout_of(scene, options);
    const double scale =
        image.height() /
        std::ceil(RetentionPainter(options.font, options.palette).natural_height(scene, options.width));
    QVERIFY(scale < options.scale);
    const QPointF last = layout.row(scene.rows.count() - 1).center();
    const QPoint at = (last * scale).toPoint();
    QVERIFY(image.pixelColor(at) != options.palette.color(QPalette::Window));
}

void MapTest::titles_of_sections_are_one_plain_line()
{
    SessionFacts facts;
    DocumentPart part;
    part.info.title = "A\nbook\t\u202Ewith tricks";
    part.range = {10, 500};
    part.sections = {{.title = "One", .first_token = 100, .first_byte = 0}};
    facts.documents = {part};
    facts.pins = {{.first = 3, .last = 7, .since = 0, .label = {}}};
    const MapMarks marks = marks_of(facts);
    QCOMPARE(marks.sections.size(), size_t{2});
    QCOMPARE(marks.sections[0].title, QStringLiteral("A book with tricks"));
    QCOMPARE(marks.sections[0].first, uint64_t{10});
    QCOMPARE(marks.sections[1].first, uint64_t{110});
    QVERIFY((marks.pins == std::vector<StreamRange>{{3, 7}}));
    QCOMPARE(section_at(marks.sections, 9), nullptr);
    QCOMPARE(section_at(marks.sections, 109)->first, uint64_t{10});
}

QTEST_MAIN(MapTest)
#include "map_test.moc"
