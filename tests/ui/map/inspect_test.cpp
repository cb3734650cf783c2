// The map shows what `palimpsest inspect --json` prints. The command reads a text into a session whose lists differ
// in length. At random places of every picture of that session, tokens and colour must match the printed lists.

#include <QMouseEvent>
#include <QPainter>
#include <QProcess>
#include <QScrollBar>
#include <QSignalSpy>
#include <QSvgRenderer>
#include <QTemporaryDir>
#include <QtTest>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <sstream>

#include "tests/support/project_folders.h"
#include "tests/ui/map/synthetic_map.h"
#include "tests/ui/support/patience.h"
#include "ui/base/theme.h"
#include "ui/engine/engine_thread.h"
#include "ui/map/colors.h"
#include "ui/map/lists.h"
#include "ui/map/place.h"
#include "ui/map/view.h"

using namespace palimpsest;
using namespace palimpsest::ui;

namespace {

const QString session_name = QStringLiteral("Ashford");
constexpr int places_in_a_picture = 1000;

// The lists that the command printed.
struct Printed {
    uint64_t seen = 0;
    std::map<std::pair<int32_t, int32_t>, std::vector<uint64_t>> lists; // by layer and head

    static Printed of(const nlohmann::json& json)
    {
        Printed printed{.seen = json.at("tokens_seen"), .lists = {}};
        for (const auto& head : json.at("heads"))
            printed.lists[{head.at("layer"), head.at("head")}] = head.at("tokens").get<std::vector<uint64_t>>();
        return printed;
    }

    struct Cell {
        uint64_t kept = 0, pairs = 0;
        std::optional<uint64_t> oldest; // oldest kept token
    };
    Cell cell(const MapRow& row, const StreamRange& tokens) const
    {
        Cell cell;
        for (const auto& [which, list] : lists) {
            if (which.first != row.layer || (row.head >= 0 && which.second != row.head)) continue;
            cell.pairs += tokens.last - tokens.first;
            for (const uint64_t token : list) {
                if (token < tokens.first || token >= tokens.last) continue;
                ++cell.kept;
                cell.oldest = std::min(cell.oldest.value_or(token), token);
            }
        }
        return cell;
    }
    QRgb color(const MapRow& row, const StreamRange& tokens, bool dark) const
    {
        const Cell counted = cell(row, tokens);
        return RetentionColors::of(dark).at(RetentionColors::level(counted.kept, counted.pairs));
    }
};

StreamRange tokens_of(const VisibleRange& window, int column, int columns)
{
    const auto at = [&](int edge) { return uint64_t(window.first() + window.span() * edge / columns); };
    return {at(column), std::max(at(column) + 1, at(column + 1))};
}

QImage rendered(const QByteArray& svg)
{
    QSvgRenderer renderer(svg);
    QImage image(renderer.viewBox().size(), QImage::Format_RGB32);
    image.fill(Qt::magenta);
    QPainter painter(&image);
    renderer.render(&painter, QRectF(QPointF(), QSizeF(image.size())));
    return image;
}

} // namespace

class InspectTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase();
    void lists_differ_in_length();
    void the_window_shows_what_the_command_prints_data();
    void the_window_shows_what_the_command_prints();
    void pictures_show_what_the_command_prints_data();
    void pictures_show_what_the_command_prints();
    void exported_lists_are_those_that_the_command_prints();

private:
    QByteArray run(const QStringList& arguments) const; // standard output; empty on failure
    QByteArray map_file(const QString& ending, const QStringList& more = {}) const;
    QByteArray window_file(const MapWriter& write) const;
    MapScene scene() const;

    QTemporaryDir folder_;
    nlohmann::json json_; // output of inspect --json
    Printed printed_;     // the lists in json_
    std::shared_ptr<const SessionFacts> facts_;
    std::shared_ptr<const engine::RetentionMap> kept_; // as published by the engine thread
    engine::Telemetry telemetry_;                      // of the frame that has kept_
};

QByteArray InspectTest::run(const QStringList& arguments) const
{
    QProcessEnvironment environment;
    for (const QString& name : QProcessEnvironment::systemEnvironment().keys())
        if (!name.startsWith(QLatin1String("PALIMPSEST_")))
            environment.insert(name, QProcessEnvironment::systemEnvironment().value(name));
    for (const char* place : {"HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"})
        environment.insert(QLatin1String(place), folder_.path());
    QProcess process;
    process.setProcessEnvironment(environment);
    process.start(QString::fromStdString(palimpsest::tests::build_file("app/palimpsest/palimpsest")),
                  arguments + QStringList{QStringLiteral("--session"), session_name, QStringLiteral("--db"),
                                          folder_.filePath(QStringLiteral("palimpsest.db"))});
    if (process.waitForFinished(300'000) && process.exitStatus() == QProcess::NormalExit && process.exitCode() == 0)
        return process.readAllStandardOutput();
    qWarning() << arguments << process.errorString() << process.readAllStandardError();
    return {};
}

QByteArray InspectTest::map_file(const QString& ending, const QStringList& more) const
{
    const QString name = folder_.filePath(QStringLiteral("map.") + ending);
    run(QStringList{QStringLiteral("inspect"), QStringLiteral("--map"), name} + more);
    QFile file(name);
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

QByteArray InspectTest::window_file(const MapWriter& write) const
{
    std::ostringstream out;
    write(out, *kept_);
    return QByteArray::fromStdString(out.str());
}

MapScene InspectTest::scene() const
{
    MapScene scene = MapScene::of(kept_);
    scene.title = session_name;
    return scene;
}

void InspectTest::initTestCase()
{
    QLocale::setDefault(QLocale(QLocale::English)); // like the command
    QFile sample(QString::fromStdString(tests::source_file("resources/samples/ashford-light.md")));
    QVERIFY(sample.open(QIODevice::ReadOnly));
    QFile text(folder_.filePath(QStringLiteral("text.md")));
    QVERIFY(text.open(QIODevice::WriteOnly));
    text.write(sample.read(24'000));
    text.close();
    run({QStringLiteral("read"), text.fileName(), QStringLiteral("--policy"), QStringLiteral("adakv"),
         QStringLiteral("--budget"), QStringLiteral("256"), QStringLiteral("--chunk"), QStringLiteral("128")});
    const QByteArray json = run({QStringLiteral("inspect"), QStringLiteral("--json")});
    QVERIFY(!json.isEmpty());
    json_ = nlohmann::json::parse(json.toStdString());
    printed_ = Printed::of(json_);

    EngineThread engine(folder_.filePath(QStringLiteral("palimpsest.db")));
    QSignalSpy failed(&engine, &EngineThread::failed);
    connect(&engine, &EngineThread::session_changed, this, [this](std::shared_ptr<const SessionFacts> facts) {
        if (facts) facts_ = std::move(facts);
    });
    engine.open_session(session_name);
    QVERIFY(test::eventually([&] { return !failed.isEmpty() || (engine.is_idle() && engine.frame()->kept); }));
    QVERIFY(failed.isEmpty());
    const auto frame = engine.frame();
    kept_ = frame->kept;
    telemetry_ = frame->telemetry;
    QVERIFY(facts_);
    QCOMPARE(kept_->tokens_seen, printed_.seen);
    QCOMPARE(printed_.lists.size(), kept_->tokens.size());
}

void InspectTest::lists_differ_in_length()
{
    std::set<size_t> lengths;
    for (const auto& [which, list] : printed_.lists)
        lengths.insert(list.size());
    QVERIFY2(lengths.size() > 4, qPrintable(QString::number(lengths.size())));
}

void InspectTest::the_window_shows_what_the_command_prints_data()
{
    QTest::addColumn<bool>("expanded");
    QTest::addColumn<double>("zoom");
    for (const bool expanded : {false, true})
        for (const double zoom : {1.0, 7.0, 300.0})
            QTest::addRow("%s, zoom %g", expanded ? "heads" : "layers", zoom) << expanded << zoom;
}

void InspectTest::the_window_shows_what_the_command_prints()
{
    QFETCH(bool, expanded);
    QFETCH(double, zoom);
    RetentionView view;
    view.set_map(kept_);
    if (expanded) view.expand_all();
    view.zoom(zoom);
    view.resize(900, 800);
    view.show();
    QVERIFY(QTest::qWaitForWindowExposed(&view, test::patience_ms));
    EVENTUALLY(view.frames_painted() > 0);
    EVENTUALLY(view.is_current());
    QCOMPARE(view.verticalScrollBar()->maximum(), 0);

    const QImage image = view.viewport()->grab().toImage();
    const MapLayout layout = view.grid().layout();
    const auto columns = int(layout.plot.width()), rows = view.scene().rows.count();
    QCOMPARE(rows, kept_->layers * (expanded ? 1 + kept_->kv_heads : 1));
    std::mt19937 random(3);
    for (int i = 0; i < places_in_a_picture; ++i) {
        const auto column = int(random() % unsigned(columns)), index = int(random() % unsigned(rows));
        const QPoint at(int(layout.plot.left()) + column, int(layout.row(index).center().y()));
        const MapRow row = view.scene().rows.at(index);
        const StreamRange tokens = tokens_of(view.scene().window, column, columns);
        QCOMPARE(image.pixel(at), printed_.color(row, tokens, is_dark(view.palette())));

        QMouseEvent move(QEvent::MouseMove, at, view.viewport()->mapToGlobal(at), Qt::NoButton, Qt::NoButton, {});
        QApplication::sendEvent(view.viewport(), &move);
        QVERIFY(view.place());
        QVERIFY((*view.place() == MapCell{row, tokens}));
        const CellFacts facts = facts_of(*view.scene().map, *view.place());
        const Printed::Cell cell = printed_.cell(row, tokens);
        QCOMPARE(facts.count.kept, cell.kept);
        QCOMPARE(facts.count.pairs, cell.pairs);
        QCOMPARE(facts.token, cell.oldest.value_or(tokens.first));
    }
}

void InspectTest::pictures_show_what_the_command_prints_data()
{
    QTest::addColumn<QString>("ending");
    QTest::addColumn<QString>("maker");
    for (const char* ending : {"png", "svg"})
        for (const char* maker : {"command", "command, one layer", "window, heads"})
            QTest::addRow("%s of the %s", ending, maker) << ending << maker;
}

void InspectTest::pictures_show_what_the_command_prints()
{
    QFETCH(QString, ending);
    QFETCH(QString, maker);
    const MapPictureOptions options = print_options();
    const bool is_png = ending == QLatin1String("png");
    MapScene shown = scene();
    QByteArray file;
    if (maker == QLatin1String("command, one layer")) {
        const int32_t layer = 5;
        file = map_file(ending, {QStringLiteral("--layer"), QString::number(layer)});
        std::vector<MapRow> heads;
        for (int32_t head = kept_->kv_heads - 1; head >= 0; --head)
            heads.push_back({layer, head});
        shown.rows.choose(heads);
    } else if (maker == QLatin1String("window, heads")) {
        shown.rows.expand_all(true);
        file = is_png ? map_png(shown, options) : map_svg(shown, options);
    } else {
        file = map_file(ending);
    }
    const QImage image = is_png ? QImage::fromData(file, "PNG") : rendered(file);

    const RetentionPainter painter(options.font, options.palette);
    const QRectF area(0, 0, options.width, std::ceil(painter.natural_height(shown, options.width)));
    const MapLayout layout = painter.layout(shown, area);
    const double scale = is_png ? options.scale : 1;
    QCOMPARE(image.size(), (area.size() * scale).toSize());
    const auto columns = int(std::lround(layout.plot.width() * scale)), rows = shown.rows.count();
    std::mt19937 random(4);
    for (int i = 0; i < places_in_a_picture; ++i) {
        const auto column = int(random() % unsigned(columns)), index = int(random() % unsigned(rows));
        const QPoint at(int(std::lround(layout.plot.left() * scale)) + column,
                        int(layout.row(index).center().y() * scale));
        const StreamRange tokens = tokens_of(shown.window, column, columns);
        QCOMPARE(image.pixel(at), printed_.color(shown.rows.at(index), tokens, false));
    }
}

void InspectTest::exported_lists_are_those_that_the_command_prints()
{
    const MapWriters writers = writers_of(facts_, telemetry_);
    for (const QByteArray& file : {map_file(QStringLiteral("json")), window_file(writers.json)}) {
        const auto json = nlohmann::json::parse(file.toStdString());
        QVERIFY(Printed::of(json).lists == printed_.lists);
        for (const char* key :
             {"schema", "model", "policy", "protocol", "tokens_seen", "coverage", "reach", "pins"})
            QVERIFY2(json.at(key) == json_.at(key), key);
        for (const auto& [key, value] : json_.items())
            QVERIFY2(json.contains(key), key.c_str());
        QCOMPARE(file.count('\n'), qsizetype(json.size() + printed_.lists.size())); // one line per entry or list
    }
    for (const QByteArray& file : {map_file(QStringLiteral("csv")), window_file(writers.csv)}) {
        Printed table;
        for (const QByteArray& line : file.split('\n').mid(1)) {
            const QList<QByteArray> cells = line.split(',');
            if (cells.size() == 3)
                table.lists[{cells[0].toInt(), cells[1].toInt()}].push_back(cells[2].toULongLong());
        }
        QVERIFY(table.lists == printed_.lists);
    }
}

QTEST_MAIN(InspectTest)
#include "inspect_test.moc"
