#include "ui/map/painter.h"

#include <QCoreApplication>
#include <QFontInfo>
#include <QFontMetricsF>
#include <QImage>
#include <QLocale>
#include <QPainter>
#include <QPainterPath>
#include <algorithm>
#include <cmath>
#include <cstring>

#include "ui/base/quantity.h"
#include "ui/base/theme.h"
#include "ui/map/colors.h"

namespace palimpsest::ui {
namespace {

struct PainterWords {
    Q_DECLARE_TR_FUNCTIONS(palimpsest::ui::MapPicture)
};

constexpr std::array<double, 3> ramp_shares = {0.01, 0.1, 1};
constexpr double ramp_ems = 12;
constexpr double least_title_ems = 5; // shorter section titles are left out

QString label_of(const MapRow& row)
{
    const QString layer = QLocale().toString(row.layer);
    return row.is_layer() ? layer : layer + QLatin1Char('.') + QLocale().toString(row.head);
}

// Returns the smallest 1, 2 or 5 times a power of ten that is at least `least` and at least 1.
double tick_step(double least)
{
    const double power = std::pow(10, std::floor(std::log10(std::max(least, 1.0))));
    for (const double factor : {1.0, 2.0, 5.0})
        if (factor * power >= least) return factor * power;
    return 10 * power;
}

double text_width(const QFont& font, const QString& text)
{
    return QFontMetricsF(font).horizontalAdvance(text);
}

// Returns the range [first, last) of rows that are at least partly inside the plot.
std::pair<int, int> visible_rows(const MapScene& scene, const MapLayout& layout)
{
    if (layout.row_height <= 0) return {0, 0};
    const int first = static_cast<int>(layout.scroll / layout.row_height);
    const int last = static_cast<int>(std::ceil((layout.scroll + layout.plot.height()) / layout.row_height));
    return {std::clamp(first, 0, scene.rows.count()), std::clamp(last, 0, scene.rows.count())};
}

MapCells cells_of(const MapScene& scene, const MapLayout& layout, double device_ratio)
{
    const auto [first, last] = visible_rows(scene, layout);
    const std::span<const MapRow> rows(scene.rows.all());
    return count_cells(*scene.map, rows.subspan(static_cast<size_t>(first), static_cast<size_t>(last - first)),
                       RetentionPainter::columns(scene, layout, device_ratio));
}

bool has_cells(const MapScene& scene, const MapLayout& layout)
{
    return scene.map && scene.window.length() > 0 && !layout.plot.isEmpty();
}

// Gap between rows: one unit if the rows are high enough.
double gap_of(const MapLayout& layout)
{
    return layout.row_height >= 6 ? 1 : 0;
}

} // namespace

// ---- layout

QRectF MapLayout::row(int index) const
{
    return {plot.left(), plot.top() + index * row_height - scroll, plot.width(), row_height};
}

int MapLayout::row_at(double y, int count) const
{
    if (row_height <= 0 || y < plot.top() || y >= plot.bottom()) return -1;
    const int index = static_cast<int>((y - plot.top() + scroll) / row_height);
    return index < count ? index : -1;
}

RetentionPainter::RetentionPainter(const QFont& font, const QPalette& palette)
    : font_(font), small_(font), palette_(palette), dark_(is_dark(palette)),
      background_(palette.color(QPalette::Window)), text_(palette.color(QPalette::WindowText)),
      quiet_(secondary_text(palette)), mark_(accent(palette))
{
    // A size in pixels makes the text of a file as large as on the screen, whatever the resolution of the file.
    const int pixels = QFontInfo(font).pixelSize();
    font_.setPixelSize(pixels);
    small_.setPixelSize(std::max(1, pixels * 9 / 10));
}

double RetentionPainter::em() const
{
    return QFontMetricsF(small_).horizontalAdvance(QLatin1Char('0')) * 1.7;
}

double RetentionPainter::line() const
{
    return std::ceil(QFontMetricsF(small_).height());
}

double RetentionPainter::label_width(const MapRows& rows) const
{
    const MapRow widest{rows.layers() - 1, rows.kv_heads() - 1};
    double label = text_width(small_, label_of(widest));
    for (const QString& word : {PainterWords::tr("layer"), PainterWords::tr("token")})
        label = std::max(label, text_width(small_, word));
    return std::ceil(label + 1.6 * em());
}

MapLayout RetentionPainter::layout(const MapScene& scene, const QRectF& area, double scroll) const
{
    const double pad = std::ceil(0.4 * em());
    const QRectF inner = area.adjusted(pad, pad, -pad, -pad);
    MapLayout result;
    double top = inner.top(), bottom = inner.bottom();
    const auto take = [&](double height) {
        const QRectF part(inner.left(), top, inner.width(), height);
        top += height;
        return part;
    };
    if (!scene.title.isEmpty()) result.title = take(std::ceil(QFontMetricsF(font_).height() * 1.4));
    result.marks = take(line());
    result.sources = take(std::ceil(0.5 * em()));

    const double legend = legend_height(scene, inner.width());
    const double band = std::ceil(0.5 * em());
    const double below = band + line() * 1.3 + legend;
    const double labels = label_width(scene.rows);
    const double room = std::max(0.0, std::floor(bottom - below - top));
    const int count = std::max(1, scene.rows.count());
    result.row_height =
        std::clamp(std::floor(room / count), std::max(4.0, std::floor(0.55 * line())), std::floor(2.2 * line()));
    result.rows_height = result.row_height * scene.rows.count();
    result.plot = QRectF(inner.left() + labels, top, std::max(0.0, std::floor(inner.width() - labels)),
                         std::min(room, result.rows_height));
    result.scroll = std::clamp(scroll, 0.0, result.rows_height - result.plot.height());
    result.labels = QRectF(inner.left(), top, labels, result.plot.height());
    for (QRectF* const part : {&result.marks, &result.sources}) {
        part->setLeft(result.plot.left());
        part->setRight(result.plot.right());
    }
    result.pins = QRectF(result.plot.left(), result.plot.bottom(), result.plot.width(), band);
    result.axis = QRectF(inner.left(), result.pins.bottom(), inner.width(), line() * 1.3);
    result.legend = QRectF(inner.left(), result.axis.bottom(), inner.width(), legend);
    return result;
}

double RetentionPainter::natural_height(const MapScene& scene, double width) const
{
    const int count = std::max(1, scene.rows.count());
    const double row = std::clamp(std::floor(30 * line() / count), std::max(4.0, std::floor(0.55 * line())),
                                  std::ceil(1.2 * line()));
    // A layout of height 0 shows how much space the parts around the plot need.
    const MapLayout bare = layout(scene, QRectF(0, 0, width, 0));
    return bare.plot.top() + row * count + (bare.legend.bottom() - bare.plot.bottom()) + std::ceil(0.4 * em());
}

TokenColumns RetentionPainter::columns(const MapScene& scene, const MapLayout& layout, double device_ratio)
{
    return {scene.window, static_cast<int>(std::lround(layout.plot.width() * device_ratio))};
}

double RetentionPainter::x_of(const MapScene& scene, const MapLayout& layout, double token) const
{
    const double share = scene.window.span() > 0 ? (token - scene.window.first()) / scene.window.span() : 0;
    return layout.plot.left() + share * layout.plot.width();
}

// ---- the picture

void RetentionPainter::paint(QPainter& painter, const MapScene& scene, const MapLayout& layout, Style style,
                             double device_ratio) const
{
    painter.save();
    painter.setFont(small_);
    if (!layout.title.isEmpty()) {
        painter.setFont(font_);
        painter.setPen(text_);
        const QFontMetricsF metrics(font_);
        painter.drawText(layout.title, Qt::AlignLeft | Qt::AlignVCenter | Qt::TextSingleLine,
                         metrics.elidedText(scene.title, Qt::ElideMiddle, layout.title.width()));
        painter.setFont(small_);
    }
    if (has_cells(scene, layout)) {
        if (style == Style::Pixels)
            paint_cells(painter, scene, layout, device_ratio);
        else
            paint_shapes(painter, scene, layout);
        paint_unread(painter, scene, layout);
        paint_sections(painter, scene, layout);
        paint_selection(painter, scene, layout);
        paint_sources(painter, scene, layout);
        paint_pins(painter, scene, layout);
        paint_labels(painter, scene, layout);
        paint_axis(painter, scene, layout);
        if (scene.has_legend) paint_legend(painter, scene, layout);
    }
    painter.restore();
}

void RetentionPainter::paint_cells(QPainter& painter, const MapScene& scene, const MapLayout& layout,
                                   double device_ratio) const
{
    const MapCells cells = cells_of(scene, layout, device_ratio);
    const RetentionColors& colors = RetentionColors::of(dark_);
    const int first_row = visible_rows(scene, layout).first;
    const int height = static_cast<int>(std::lround(layout.plot.height() * device_ratio));
    QImage image(cells.columns, height, QImage::Format_RGB32);
    image.fill(background_);
    std::vector<QRgb> line(static_cast<size_t>(cells.columns));
    const double gap = gap_of(layout);
    for (int row = 0; row < cells.rows; ++row) {
        for (int column = 0; column < cells.columns; ++column)
            line[static_cast<size_t>(column)] =
                colors.at(RetentionColors::level(cells.kept_at(row, column), cells.pairs_at(row, column)));
        const QRectF place = layout.row(first_row + row).translated(0, -layout.plot.top());
        const int top = std::max(0, static_cast<int>(std::lround(place.top() * device_ratio)));
        const int bottom = std::min(height, static_cast<int>(std::lround((place.bottom() - gap) * device_ratio)));
        for (int y = top; y < bottom; ++y)
            std::memcpy(image.scanLine(y), line.data(), line.size() * sizeof(QRgb));
    }
    painter.save();
    painter.scale(1 / device_ratio, 1 / device_ratio);
    painter.drawImage(
        QPointF(std::round(layout.plot.left() * device_ratio), std::round(layout.plot.top() * device_ratio)),
        image);
    painter.restore();
}

// Draws one path per colour, which joins runs of equal cells: at most `levels` paths, however many cells there are.
void RetentionPainter::paint_shapes(QPainter& painter, const MapScene& scene, const MapLayout& layout) const
{
    const MapCells cells = cells_of(scene, layout, 1);
    const RetentionColors& colors = RetentionColors::of(dark_);
    const int first_row = visible_rows(scene, layout).first;
    std::array<QPainterPath, RetentionColors::levels> shapes;
    const double gap = gap_of(layout);
    for (int row = 0; row < cells.rows; ++row) {
        const QRectF place = layout.row(first_row + row).adjusted(0, 0, 0, -gap);
        const auto level = [&](int column) {
            return RetentionColors::level(cells.kept_at(row, column), cells.pairs_at(row, column));
        };
        for (int from = 0; from < cells.columns;) {
            int to = from + 1;
            while (to < cells.columns && level(to) == level(from))
                ++to;
            shapes[static_cast<size_t>(level(from))].addRect(
                QRectF(place.left() + from, place.top(), to - from, place.height()).intersected(layout.plot));
            from = to;
        }
    }
    painter.setPen(Qt::NoPen);
    for (int level = 0; level < RetentionColors::levels; ++level) {
        if (shapes[static_cast<size_t>(level)].isEmpty()) continue;
        painter.setBrush(QColor::fromRgb(colors.at(level)));
        painter.drawPath(shapes[static_cast<size_t>(level)]);
    }
    painter.setBrush(Qt::NoBrush);
}

void RetentionPainter::paint_hatching(QPainter& painter, const QRectF& area) const
{
    const RetentionColors& colors = RetentionColors::of(dark_);
    painter.save();
    painter.fillRect(area, colors.unread());
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(colors.hatching(), 1));
    // Computes where each line leaves the area, because QSvgGenerator does not support clipping.
    const QRectF inner = area.adjusted(1, 1, -1, -1);
    const double step = std::max(4.0, 0.7 * em());
    // NOLINTNEXTLINE(clang-analyzer-security.FloatLoopCounter): a rounding error moves no line visibly
    for (double x = inner.left() - inner.height() + step / 2; x < inner.right(); x += step) {
        const double from = std::max(x, inner.left()), to = std::min(x + inner.height(), inner.right());
        painter.drawLine(QPointF(from, inner.bottom() - (from - x)), QPointF(to, inner.bottom() - (to - x)));
    }
    painter.restore();
}

void RetentionPainter::paint_unread(QPainter& painter, const MapScene& scene, const MapLayout& layout) const
{
    // The unread area starts at the first column of which no token was read.
    const TokenColumns divided = columns(scene, layout);
    if (scene.map->tokens_seen >= divided.tokens(divided.count() - 1).last) return;
    int column = std::max(0, divided.column_of(scene.map->tokens_seen));
    if (divided.tokens(column).first < scene.map->tokens_seen) ++column;
    const double left =
        std::max(layout.plot.left() + column, x_of(scene, layout, static_cast<double>(scene.map->tokens_seen)));
    const QRectF unread(QPointF(std::ceil(left), layout.plot.top()), layout.plot.bottomRight());
    if (unread.width() >= 1) paint_hatching(painter, unread);
}

void RetentionPainter::paint_label(QPainter& painter, const MapScene& scene, const QRectF& place,
                                   const MapRow& row) const
{
    painter.setPen(row.is_layer() ? text_ : quiet_);
    painter.drawText(place.adjusted(0, -line(), -0.5 * em(), line()),
                     Qt::AlignRight | Qt::AlignVCenter | Qt::TextSingleLine, label_of(row));
    if (!scene.has_handles || !row.is_layer() || !scene.rows.is_expandable()) return;
    const double size = 0.28 * em();
    const QPointF at(place.left() + 0.5 * em(), place.center().y());
    const bool open = scene.rows.is_expanded(row.layer);
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(Qt::NoPen);
    painter.setBrush(quiet_);
    painter.translate(at);
    if (open) painter.rotate(90);
    painter.drawPolygon(QPolygonF({{-size * 0.6, -size}, {size, 0}, {-size * 0.6, size}}));
    painter.restore();
}

// Omits a label that would overlap another. Expanded layers come first, then other layers, then heads.
void RetentionPainter::paint_labels(QPainter& painter, const MapScene& scene, const MapLayout& layout) const
{
    const auto [first, last] = visible_rows(scene, layout);
    const double height = 0.85 * line();
    std::vector<QRectF> taken;
    const auto fits = [&](const QRectF& place) {
        const double center = place.center().y();
        if (center < layout.plot.top() - 1 || center > layout.plot.bottom() + 1) return false;
        return std::none_of(taken.begin(), taken.end(),
                            [&](const QRectF& other) { return std::abs(other.center().y() - center) < height; });
    };
    const auto rank = [&](const MapRow& row) {
        return !row.is_layer() ? 2 : scene.rows.is_expanded(row.layer) ? 0 : 1;
    };
    for (int wanted = 0; wanted <= 2; ++wanted)
        for (int row = first; row < last; ++row) {
            if (rank(scene.rows.at(row)) != wanted) continue;
            QRectF place = layout.row(row);
            place.setLeft(layout.labels.left());
            place.setRight(layout.labels.right());
            if (!fits(place)) continue;
            paint_label(painter, scene, place, scene.rows.at(row));
            taken.push_back(place);
        }
    painter.setPen(quiet_);
    painter.drawText(QRectF(layout.labels.left(), layout.marks.top(), layout.labels.width() - 0.5 * em(), line()),
                     Qt::AlignRight | Qt::AlignVCenter | Qt::TextSingleLine, PainterWords::tr("layer"));
}

void RetentionPainter::paint_axis(QPainter& painter, const MapScene& scene, const MapLayout& layout) const
{
    const VisibleRange& window = scene.window;
    const double widest = text_width(small_, count_text(window.length())) + 1.5 * em();
    const double step = tick_step(window.span() * widest / std::max(1.0, layout.plot.width()));
    painter.setPen(quiet_);
    painter.drawText(QRectF(layout.labels.left(), layout.axis.top(), layout.labels.width() - em(), line()),
                     Qt::AlignRight | Qt::AlignVCenter | Qt::TextSingleLine, PainterWords::tr("token"));
    // From right to left, so that the last label, which is aligned to the plot's edge, is drawn rather than its
    // neighbour.
    double taken = layout.plot.right() + em();
    // NOLINTNEXTLINE(clang-analyzer-security.FloatLoopCounter): whole numbers, so exact
    for (double token = std::floor(window.last() / step) * step; token >= window.first(); token -= step) {
        const double x = x_of(scene, layout, token);
        painter.setPen(separator(palette_));
        painter.drawLine(QPointF(x, layout.pins.top()), QPointF(x, layout.axis.top()));
        const QString label = count_text(token);
        const double width = text_width(small_, label);
        const double left = std::clamp(x - width / 2, layout.plot.left() - 0.3 * em(),
                                       std::max(layout.plot.left(), layout.plot.right() - width));
        if (left + width > taken - 0.5 * em()) continue;
        painter.setPen(quiet_);
        painter.drawText(QPointF(left, layout.axis.top() + QFontMetricsF(small_).ascent()), label);
        taken = left;
    }
}

// Draws at most one section per unit of width: after each, skips those that begin within the same unit.
void RetentionPainter::paint_sections(QPainter& painter, const MapScene& scene, const MapLayout& layout) const
{
    const std::vector<MapSection>& sections = scene.marks.sections;
    const auto first_from = [&](double token) {
        return std::partition_point(sections.begin(), sections.end(),
                                    [&](const MapSection& s) { return static_cast<double>(s.first) < token; });
    };
    const double per_unit = scene.window.span() / layout.plot.width();
    auto at = first_from(scene.window.first());
    if (at != sections.begin() && (at == sections.end() || static_cast<double>(at->first) > scene.window.first()))
        --at;
    while (at != sections.end() && static_cast<double>(at->first) < scene.window.last()) {
        const double token = std::max(static_cast<double>(at->first), scene.window.first());
        const double x = x_of(scene, layout, token);
        const auto next = std::max(at + 1, first_from(token + per_unit));
        const double until =
            next == sections.end() ? layout.plot.right() : x_of(scene, layout, static_cast<double>(next->first));
        const double room = std::min(until, layout.plot.right()) - x - 0.7 * em();
        const bool is_named = room >= std::min(least_title_ems * em(), text_width(small_, at->title));
        painter.setPen(quiet_);
        painter.drawLine(QPointF(x, is_named ? layout.marks.top() + 2 : layout.sources.top()),
                         QPointF(x, layout.sources.bottom()));
        if (is_named)
            painter.drawText(QRectF(x + 0.35 * em(), layout.marks.top(), room, line()),
                             Qt::AlignLeft | Qt::AlignVCenter | Qt::TextSingleLine,
                             QFontMetricsF(small_).elidedText(at->title, Qt::ElideRight, room));
        at = next;
    }
}

namespace {

// Draws a bar between the x coordinates `from` and `to`, at least two units wide, with a triangle that points at
// the plot.
void draw_bar(QPainter& painter, const QRectF& band, double from, double to, bool points_up)
{
    const double middle = std::clamp((from + to) / 2, band.left(), band.right());
    const double size = band.height() * 0.6;
    from = std::clamp(std::min(from, middle - 1), band.left(), band.right());
    to = std::clamp(std::max(to, middle + 1), band.left(), band.right());
    const double edge = points_up ? band.top() : band.bottom();
    const double back = points_up ? band.bottom() : band.top();
    painter.drawRect(QRectF(from, points_up ? edge : edge - 2, to - from, 2));
    painter.drawPolygon(QPolygonF({{middle - size, back}, {middle + size, back}, {middle, edge}}));
}

} // namespace

void RetentionPainter::paint_pins(QPainter& painter, const MapScene& scene, const MapLayout& layout) const
{
    painter.save();
    painter.setPen(Qt::NoPen);
    painter.setBrush(text_);
    for (const StreamRange& pin : scene.marks.pins) {
        if (static_cast<double>(pin.last) <= scene.window.first() ||
            static_cast<double>(pin.first) >= scene.window.last())
            continue;
        draw_bar(painter, layout.pins, x_of(scene, layout, static_cast<double>(pin.first)),
                 x_of(scene, layout, static_cast<double>(pin.last)), true);
    }
    painter.restore();
}

void RetentionPainter::paint_sources(QPainter& painter, const MapScene& scene, const MapLayout& layout) const
{
    painter.save();
    painter.setPen(Qt::NoPen);
    painter.setBrush(mark_);
    for (const StreamRange& source : scene.marks.highlights) {
        if (static_cast<double>(source.last) <= scene.window.first() ||
            static_cast<double>(source.first) >= scene.window.last())
            continue;
        draw_bar(painter, layout.sources, x_of(scene, layout, static_cast<double>(source.first)),
                 x_of(scene, layout, static_cast<double>(source.last)), false);
    }
    painter.restore();
}

void RetentionPainter::paint_selection(QPainter& painter, const MapScene& scene, const MapLayout& layout) const
{
    if (!scene.selection) return;
    const double from = std::max(layout.plot.left(), x_of(scene, layout, double(scene.selection->first)));
    const double to = std::min(layout.plot.right(), x_of(scene, layout, double(scene.selection->last)));
    if (to < from) return;
    painter.save();
    painter.setPen(QPen(mark_, 2));
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(QRectF(from, layout.plot.top() + 1, std::max(1.0, to - from), layout.plot.height() - 2));
    painter.restore();
}

// ---- the legend

struct RetentionPainter::Legend {
    enum class Kind { Ramp, None, Unread, Pin, Source };
    struct Item {
        Kind kind;
        QString text;
        double width = 0; // including its symbol and spacing
        QPointF at;
    };
    std::vector<Item> items;
    double height = 0;

    Legend(const RetentionPainter& painter, const MapScene& scene, double width)
    {
        const double em = painter.em();
        const auto add = [&](Kind kind, const QString& text, double symbol) {
            items.push_back({kind, text, symbol + text_width(painter.small_, text) + 2.2 * em, {}});
        };
        add(Kind::Ramp, PainterWords::tr("share kept"), (ramp_ems + 1) * em);
        add(Kind::None, PainterWords::tr("none kept"), em);
        if (scene.map && scene.map->tokens_seen < scene.window.length())
            add(Kind::Unread, PainterWords::tr("not read yet"), em);
        if (!scene.marks.pins.empty()) add(Kind::Pin, PainterWords::tr("pinned"), em);
        if (!scene.marks.highlights.empty()) add(Kind::Source, PainterWords::tr("source of the answer"), em);
        flow(painter, width);
    }

    void flow(const RetentionPainter& painter, double width)
    {
        double x = 0, y = 0.5 * painter.line();
        for (Item& item : items) {
            if (x > 0 && x + item.width > width) {
                x = 0;
                y += (y < 1.5 * painter.line() ? 2.1 : 1.2) * painter.line();
            }
            item.at = {x, y};
            x += item.width;
        }
        // The labels of the ramp are below the first line.
        height = std::ceil(std::max(y + painter.line(), 2.5 * painter.line()));
    }
};

double RetentionPainter::legend_height(const MapScene& scene, double width) const
{
    if (!scene.has_legend) return 0;
    return Legend(*this, scene, width).height;
}

void RetentionPainter::paint_ramp(QPainter& painter, const QRectF& bar) const
{
    const RetentionColors& colors = RetentionColors::of(dark_);
    QLinearGradient gradient(bar.topLeft(), bar.topRight());
    constexpr int stops = 32;
    for (int stop = 0; stop <= stops; ++stop)
        gradient.setColorAt(double(stop) / stops,
                            QColor::fromRgb(colors.at(1 + stop * (RetentionColors::levels - 2) / stops)));
    painter.fillRect(bar, gradient);
    const QFontMetricsF metrics(small_);
    painter.setPen(quiet_);
    for (const double share : ramp_shares) {
        const double x = bar.left() + RetentionColors::position(share) * bar.width();
        painter.drawLine(QPointF(x, bar.bottom()), QPointF(x, bar.bottom() + 0.15 * line()));
        const QString label = percentage(share);
        painter.drawText(
            QPointF(x - metrics.horizontalAdvance(label) / 2, bar.bottom() + 0.15 * line() + metrics.ascent()),
            label);
    }
}

void RetentionPainter::paint_legend(QPainter& painter, const MapScene& scene, const MapLayout& layout) const
{
    const RetentionColors& colors = RetentionColors::of(dark_);
    const Legend legend(*this, scene, layout.legend.width());
    for (const Legend::Item& item : legend.items) {
        const QPointF at = layout.legend.topLeft() + item.at;
        const QRectF swatch(at.x(), at.y() + 0.15 * line(), em(), 0.7 * line());
        double text_at = swatch.right() + 0.5 * em();
        painter.save();
        switch (item.kind) {
        case Legend::Kind::Ramp:
            painter.setPen(text_);
            painter.drawText(QPointF(at.x(), at.y() + QFontMetricsF(small_).ascent()), item.text);
            paint_ramp(painter, QRectF(at.x() + text_width(small_, item.text) + 0.7 * em(), swatch.top(),
                                       ramp_ems * em(), swatch.height()));
            painter.restore();
            continue;
        case Legend::Kind::None:
            painter.fillRect(swatch, QColor::fromRgb(colors.at(0)));
            painter.setPen(separator(palette_));
            painter.drawRect(swatch);
            break;
        case Legend::Kind::Unread:
            paint_hatching(painter, swatch);
            break;
        case Legend::Kind::Pin:
        case Legend::Kind::Source:
            painter.setPen(Qt::NoPen);
            painter.setBrush(item.kind == Legend::Kind::Pin ? text_ : mark_);
            draw_bar(painter, swatch, swatch.left(), swatch.right(), item.kind == Legend::Kind::Pin);
            break;
        }
        painter.restore();
        painter.setPen(text_);
        painter.drawText(QPointF(text_at, at.y() + QFontMetricsF(small_).ascent()), item.text);
    }
}

// ---- the crosshair

std::pair<QRectF, QRectF> RetentionPainter::crosshair_strips(const MapScene& scene, const MapLayout& layout,
                                                             const MapCell& place) const
{
    const int row = scene.rows.index_of(place.row);
    const double left = x_of(scene, layout, static_cast<double>(place.tokens.first));
    const double right = x_of(scene, layout, static_cast<double>(place.tokens.last));
    QRectF across = layout.row(row).adjusted(-3, -3, 3, 3).intersected(layout.plot.adjusted(-3, -3, 3, 3));
    return {across, QRectF(left - 4, layout.plot.top() - 3, right - left + 8, layout.plot.height() + 6)};
}

void RetentionPainter::paint_crosshair(QPainter& painter, const MapScene& scene, const MapLayout& layout,
                                       const MapCell& place) const
{
    const int index = scene.rows.index_of(place.row);
    if (index < 0) return;
    const QRectF row = layout.row(index);
    const double left = x_of(scene, layout, static_cast<double>(place.tokens.first));
    const double right = std::max(left + 1, x_of(scene, layout, static_cast<double>(place.tokens.last)));
    painter.save();
    painter.setClipRect(layout.plot.adjusted(-2, -2, 2, 2), Qt::IntersectClip);
    painter.setBrush(Qt::NoBrush);
    const QRectF column(left - 1.5, layout.plot.top() - 1, right - left + 2, layout.plot.height() + 1);
    const QRectF along(row.left() - 1, row.top() - 1.5, row.width() + 1, row.height() + 2);
    // A light and a dark line together are visible on any colour.
    for (const auto& [color, grow] : {std::pair(background_, 1.0), std::pair(text_, 0.0)}) {
        painter.setPen(QPen(color, 1));
        painter.drawRect(column.adjusted(-grow, -grow, grow, grow));
        painter.drawRect(along.adjusted(-grow, -grow, grow, grow));
    }
    painter.restore();
}

} // namespace palimpsest::ui
