#include "ui/base/chart.h"

#include <QAccessible>
#include <QAccessibleWidget>
#include <QContextMenuEvent>
#include <QDialog>
#include <QDialogButtonBox>
#include <QHeaderView>
#include <QKeyEvent>
#include <QLocale>
#include <QMenu>
#include <QMouseEvent>
#include <QPainter>
#include <QPainterPath>
#include <QTableView>
#include <QVBoxLayout>
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "ui/base/chart_table.h"
#include "ui/base/table_text.h"
#include "ui/base/theme.h"

namespace palimpsest::ui {
namespace {

constexpr double line_contrast = 3.0; // WCAG 2.1, section 1.4.11: non-text contrast

class ChartAccessible final : public QAccessibleWidget {
public:
    explicit ChartAccessible(Chart* chart) : QAccessibleWidget(chart, QAccessible::Chart), chart_(chart) {}
    QString text(QAccessible::Text kind) const override
    {
        return kind == QAccessible::Value ? chart_->crosshair_text() : QAccessibleWidget::text(kind);
    }

private:
    Chart* chart_;
};

QAccessibleInterface* make_accessible(const QString&, QObject* object)
{
    auto* chart = qobject_cast<Chart*>(object);
    return chart ? new ChartAccessible(chart) : nullptr;
}

double nice_step(double rough)
{
    const double power = std::pow(10, std::floor(std::log10(rough)));
    for (const double factor : {1.0, 2.0, 5.0})
        if (factor * power >= rough * (1 - 1e-9)) return factor * power;
    return 10 * power;
}

std::vector<double> multiples(double step, double least, double most)
{
    std::vector<double> all;
    for (double k = std::ceil(least / step - 1e-9); k * step <= most + step * 1e-9; ++k)
        all.push_back(k * step);
    return all;
}

std::vector<double> decades(double least, double most, int count)
{
    const int first = static_cast<int>(std::floor(std::log10(least) + 1e-9));
    const int last = static_cast<int>(std::ceil(std::log10(most) - 1e-9));
    const bool closer = last - first < 3;
    const int every = std::max(1, (last - first + count) / std::max(1, count));
    std::vector<double> ticks;
    for (int e = first; e <= last; e += every)
        for (const double factor : {1.0, 2.0, 5.0}) {
            const double tick = factor * std::pow(10, e);
            if ((factor == 1 || closer) && tick >= least * (1 - 1e-9) && tick <= most * (1 + 1e-9))
                ticks.push_back(tick);
        }
    return ticks;
}

// Returns the last sample with p.x() <= x, or null.
const QPointF* sample_at(const ChartLine& line, double x)
{
    const auto after = std::upper_bound(line.points.begin(), line.points.end(), x,
                                        [](double value, const QPointF& p) { return value < p.x(); });
    return after == line.points.begin() ? nullptr : &*std::prev(after);
}

} // namespace

QColor chart_color(int style, const QPalette& palette, QPalette::ColorRole background)
{
    static constexpr std::array hues = {QRgb(0xff0072b2), QRgb(0xffd55e00), QRgb(0xff009e73), QRgb(0xffb35d92)};
    return readable(QColor(hues[static_cast<size_t>(style) % hues.size()]), palette, background, line_contrast);
}

std::vector<double> chart_ticks(double least, double most, int count, bool logarithmic)
{
    if (!(most > least) || count < 1 || (logarithmic && least <= 0)) return {least};
    if (logarithmic) return decades(least, most, count);
    std::vector<double> ticks = multiples(nice_step((most - least) / count), least, most);
    for (int closer = count + 1; ticks.size() < 2 && closer <= count + 8; ++closer)
        ticks = multiples(nice_step((most - least) / closer), least, most);
    return ticks;
}

struct Chart::Frame {
    QRectF area;
    std::pair<double, double> x, y;
    bool x_logarithmic = false, y_logarithmic = false;

    static double share(double value, std::pair<double, double> range, bool logarithmic)
    {
        if (logarithmic) return std::log(value / range.first) / std::log(range.second / range.first);
        return (value - range.first) / (range.second - range.first);
    }
    QPointF at(QPointF p) const
    {
        return {area.left() + area.width() * share(p.x(), x, x_logarithmic),
                area.bottom() - area.height() * share(p.y(), y, y_logarithmic)};
    }
};

Chart::Chart(const QString& name, QWidget* parent) : QWidget(parent)
{
    [[maybe_unused]] static const bool installed = (QAccessible::installFactory(make_accessible), true);
    x_.text = y_.text = [](double value) { return QLocale().toString(value); };
    setAccessibleName(name);
    setAccessibleDescription(tr("Left and Right read the values, T shows them as a table"));
    setFocusPolicy(Qt::StrongFocus);
    setMouseTracking(true);
    QSizePolicy policy(QSizePolicy::Expanding, QSizePolicy::Expanding);
    setSizePolicy(policy);
}

void Chart::set_axes(ChartAxis x, ChartAxis y)
{
    x_ = std::move(x);
    y_ = std::move(y);
    update();
}

void Chart::set_lines(std::vector<ChartLine> lines)
{
    lines_ = std::move(lines);
    if (crosshair_ && places().empty()) set_crosshair({});
    update();
}

void Chart::set_crosshair(std::optional<double> x)
{
    if (x == crosshair_) return;
    crosshair_ = x;
    update();
    Q_EMIT crosshair_moved();
    QAccessibleValueChangeEvent event(this, crosshair_text());
    QAccessible::updateAccessibility(&event);
}

QString Chart::crosshair_text() const
{
    if (!crosshair_) return {};
    QString text = tr("%1: %2").arg(x_.title, x_.text(*crosshair_));
    for (const ChartLine& line : lines_)
        if (const QPointF* sample = sample_at(line, *crosshair_))
            text += QLatin1Char('\n') + tr("%1: %2").arg(line.name, y_.text(sample->y()));
    return text;
}

QSize Chart::sizeHint() const
{
    return {fontMetrics().averageCharWidth() * 48, fontMetrics().height() * 12};
}

QSize Chart::minimumSizeHint() const
{
    return {fontMetrics().averageCharWidth() * 26, fontMetrics().height() * 8};
}

std::pair<double, double> Chart::range_of(const ChartAxis& axis, bool vertical) const
{
    double least = std::numeric_limits<double>::infinity(), most = -least;
    for (const ChartLine& line : lines_)
        for (const QPointF& p : line.points) {
            const double value = vertical ? p.y() : p.x();
            if (!std::isfinite(value) || (axis.logarithmic && value <= 0)) continue;
            least = std::min(least, value);
            most = std::max(most, value);
        }
    if (least > most) least = axis.logarithmic ? 1 : 0, most = 1;
    least = axis.least.value_or(least);
    most = axis.most.value_or(most);
    if (axis.logarithmic) return {least / 1.5, most * 1.5};
    if (!(most > least)) most = least + std::max(1.0, std::abs(least) * 0.1);
    if (!vertical) return {least, most};
    const double margin = 0.06 * (most - least);
    return {axis.least ? least : least - margin, axis.most ? most : most + margin};
}

std::vector<QRect> Chart::legend_places() const
{
    const int line = fontMetrics().height() * 4 / 3, swatch = fontMetrics().averageCharWidth() * 4;
    const int gap = fontMetrics().averageCharWidth() * 2;
    std::vector<QRect> places;
    QPoint at(gap / 2, line);
    for (const ChartLine& l : lines_) {
        const int needed = swatch + gap / 2 + fontMetrics().horizontalAdvance(l.name);
        const int wide = std::min(needed, width() - gap);
        if (at.x() > gap / 2 && at.x() + wide > width()) at = {gap / 2, at.y() + line};
        places.emplace_back(at.x(), at.y(), wide, line);
        at.rx() += wide + gap;
    }
    return places;
}

int Chart::legend_height() const
{
    const auto places = legend_places();
    const int line = fontMetrics().height() * 4 / 3; // title of the vertical axis, above the legend
    return places.empty() ? line : places.back().bottom() + 1;
}

Chart::Frame Chart::frame() const
{
    Frame frame{.area = {},
                .x = range_of(x_, false),
                .y = range_of(y_, true),
                .x_logarithmic = x_.logarithmic,
                .y_logarithmic = y_.logarithmic};
    const int line = fontMetrics().height();
    const int top = legend_height() + line / 2, bottom = height() - line * 9 / 4;
    const int count = std::max(2, (bottom - top) / (2 * line));
    int label = 0;
    for (const double tick : chart_ticks(frame.y.first, frame.y.second, count, y_.logarithmic))
        label = std::max(label, fontMetrics().horizontalAdvance(y_.text(tick)));
    const int space = fontMetrics().averageCharWidth();
    frame.area = QRectF(QPointF(label + 2 * space, top), QPointF(width() - 2 * space, bottom));
    return frame;
}

QPen Chart::pen_of(const ChartLine& line, double width) const
{
    QPen pen(chart_color(line.style, palette(), QPalette::Base), width);
    static const std::array<QVector<qreal>, 4> dashes = {QVector<qreal>{}, QVector<qreal>{5, 2.5},
                                                         QVector<qreal>{1.5, 2}, QVector<qreal>{6, 2, 1.5, 2}};
    const auto& dash = dashes[static_cast<size_t>(line.style) % dashes.size()];
    if (!dash.isEmpty()) pen.setDashPattern(dash);
    pen.setCapStyle(Qt::FlatCap);
    pen.setJoinStyle(Qt::RoundJoin);
    return pen;
}

void Chart::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.fillRect(rect(), palette().color(QPalette::Base));
    const Frame f = frame();
    if (f.area.width() < 1 || f.area.height() < 1) return;
    paint_axes(painter, f);
    paint_lines(painter, f);
    paint_legend(painter);
    if (crosshair_) paint_crosshair(painter, f);
    if (!hasFocus()) return;
    painter.setPen(QPen(accent(palette()), 2));
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(QRectF(rect()).adjusted(1, 1, -1, -1));
}

void Chart::paint_axes(QPainter& painter, const Frame& f) const
{
    const QColor text = secondary_text(palette()), grid = separator(palette());
    const int line = fontMetrics().height(), space = fontMetrics().averageCharWidth();
    const int rows = std::max(2, static_cast<int>(f.area.height()) / (2 * line));
    for (const double tick : chart_ticks(f.y.first, f.y.second, rows, y_.logarithmic)) {
        const double y = f.at({f.x.first, tick}).y();
        painter.setPen(QPen(grid, 1));
        painter.drawLine(QPointF(f.area.left(), y), QPointF(f.area.right(), y));
        painter.setPen(text);
        const QRectF label(0, y - line / 2.0, f.area.left() - space, line);
        painter.drawText(label, Qt::AlignRight | Qt::AlignVCenter, y_.text(tick));
    }
    const int widest = fontMetrics().horizontalAdvance(x_.text(f.x.second)) + 3 * space;
    const int columns = std::max(1, static_cast<int>(f.area.width()) / std::max(1, widest));
    painter.setPen(text);
    for (const double tick : chart_ticks(f.x.first, f.x.second, columns, x_.logarithmic)) {
        const QString label = x_.text(tick);
        const double wide = fontMetrics().horizontalAdvance(label) + 2;
        const double x = f.at({tick, f.y.first}).x();
        painter.drawLine(QPointF(x, f.area.bottom()), QPointF(x, f.area.bottom() + line / 4.0));
        const double left = std::clamp(x - wide / 2, 0.0, std::max(0.0, width() - wide));
        painter.drawText(QRectF(left, f.area.bottom() + line / 4.0, wide, line), Qt::AlignCenter, label);
    }
    painter.drawLine(f.area.bottomLeft(), f.area.bottomRight());
    const QRectF below(space, height() - line - 1, width() - 2 * space, line);
    painter.drawText(below, Qt::AlignRight | Qt::AlignVCenter, x_.title);
    painter.drawText(QRectF(space, line / 6.0, width() - 2 * space, line), Qt::AlignLeft | Qt::AlignVCenter,
                     fontMetrics().elidedText(y_.title, Qt::ElideRight, width() - 2 * space));
}

void Chart::paint_lines(QPainter& painter, const Frame& f) const
{
    painter.save();
    painter.setClipRect(f.area.adjusted(-2, -2, 2, 2));
    painter.setBrush(Qt::NoBrush);
    const double wide = std::max(1.5, fontMetrics().height() / 9.0);
    for (const ChartLine& line : lines_) {
        QPainterPath path;
        bool down = false;
        for (const QPointF& p : line.points) {
            const bool drawable = std::isfinite(p.y()) && !(y_.logarithmic && p.y() <= 0);
            if (drawable && down) path.lineTo(f.at(p));
            if (drawable && !down) path.moveTo(f.at(p));
            down = drawable;
        }
        painter.setPen(pen_of(line, wide));
        painter.drawPath(path);
        if (line.points.size() != 1 || !down) continue;
        painter.setBrush(painter.pen().color()); // draw a single sample as a dot
        painter.drawEllipse(f.at(line.points[0]), wide, wide);
        painter.setBrush(Qt::NoBrush);
    }
    painter.restore();
}

void Chart::paint_legend(QPainter& painter) const
{
    const auto places = legend_places();
    const int swatch = fontMetrics().averageCharWidth() * 4, gap = fontMetrics().averageCharWidth();
    for (size_t i = 0; i < lines_.size(); ++i) {
        const QRect& place = places[i];
        painter.setPen(pen_of(lines_[i], std::max(2.0, fontMetrics().height() / 7.0)));
        const double middle = place.center().y() + 0.5;
        painter.drawLine(QPointF(place.left(), middle), QPointF(place.left() + swatch, middle));
        painter.setPen(palette().color(QPalette::Text));
        const QRect text = place.adjusted(swatch + gap, 0, 0, 0);
        painter.drawText(text, Qt::AlignLeft | Qt::AlignVCenter,
                         fontMetrics().elidedText(lines_[i].name, Qt::ElideRight, text.width() + 1));
    }
}

void Chart::paint_crosshair(QPainter& painter, const Frame& f) const
{
    const double x = f.at({*crosshair_, f.y.first}).x();
    painter.setPen(QPen(palette().color(QPalette::Text), 1));
    painter.drawLine(QPointF(x, f.area.top()), QPointF(x, f.area.bottom()));
    for (const ChartLine& line : lines_) {
        const QPointF* sample = sample_at(line, *crosshair_);
        if (!sample || !std::isfinite(sample->y()) || (y_.logarithmic && sample->y() <= 0)) continue;
        painter.setPen(QPen(palette().color(QPalette::Base), 1));
        painter.setBrush(chart_color(line.style, palette(), QPalette::Base));
        const double radius = fontMetrics().height() / 4.0;
        if (f.area.adjusted(-1, -1, 1, 1).contains(f.at(*sample)))
            painter.drawEllipse(f.at(*sample), radius, radius);
    }
    const QString text = crosshair_text();
    const int space = fontMetrics().averageCharWidth();
    const QRectF bounds = fontMetrics().boundingRect(QRect(0, 0, width(), height()), Qt::AlignLeft, text);
    QRectF box(0, 0, bounds.width() + 2 * space, bounds.height() + space);
    const bool left = x > f.area.center().x();
    box.moveTopLeft({left ? x - space - box.width() : x + space, f.area.top() + space});
    box.moveLeft(std::clamp(box.left(), 0.0, std::max(0.0, width() - box.width())));
    painter.setPen(QPen(separator(palette()), 1));
    painter.setBrush(palette().color(QPalette::ToolTipBase));
    painter.drawRoundedRect(box, space / 2.0, space / 2.0);
    painter.setPen(palette().color(QPalette::ToolTipText));
    painter.drawText(box.adjusted(space, space / 2.0, 0, 0), Qt::AlignLeft | Qt::AlignTop, text);
}

std::vector<double> Chart::places() const
{
    std::vector<double> all;
    for (const ChartLine& line : lines_)
        for (const QPointF& p : line.points)
            all.push_back(p.x());
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
}

void Chart::step(int by)
{
    const auto all = places();
    if (all.empty()) return;
    const auto last = static_cast<std::ptrdiff_t>(all.size()) - 1;
    const auto here =
        crosshair_ ? std::lower_bound(all.begin(), all.end(), *crosshair_) - all.begin() : (by < 0 ? last + 1 : -1);
    set_crosshair(all[static_cast<size_t>(std::clamp<std::ptrdiff_t>(here + by, 0, last))]);
}

void Chart::mouseMoveEvent(QMouseEvent* event)
{
    const Frame f = frame();
    const auto all = places();
    if (all.empty() || !f.area.contains(event->position())) return set_crosshair({});
    const auto distance = [&](double x) { return std::abs(f.at({x, f.y.second}).x() - event->position().x()); };
    set_crosshair(
        *std::min_element(all.begin(), all.end(), [&](double a, double b) { return distance(a) < distance(b); }));
}

void Chart::leaveEvent(QEvent*)
{
    if (!hasFocus()) set_crosshair({});
}

void Chart::keyPressEvent(QKeyEvent* event)
{
    const int by = event->modifiers().testFlag(Qt::ShiftModifier) ? 10 : 1;
    switch (event->key()) {
    case Qt::Key_Left:
        return step(-by);
    case Qt::Key_Right:
        return step(by);
    case Qt::Key_Home:
        return step(-std::numeric_limits<int>::max());
    case Qt::Key_End:
        return step(std::numeric_limits<int>::max());
    case Qt::Key_T:
        show_table();
        return;
    case Qt::Key_Escape:
        if (crosshair_) return set_crosshair({});
        break;
    default:
        break;
    }
    QWidget::keyPressEvent(event);
}

void Chart::focusInEvent(QFocusEvent* event)
{
    update();
    QWidget::focusInEvent(event);
}

void Chart::focusOutEvent(QFocusEvent* event)
{
    set_crosshair({});
    update();
    QWidget::focusOutEvent(event);
}

void Chart::contextMenuEvent(QContextMenuEvent* event)
{
    QMenu menu(this);
    menu.addAction(tr("Show as table (T)"), this, &Chart::show_table);
    menu.exec(event->globalPos());
}

QDialog* Chart::show_table()
{
    auto* dialog = new QDialog(this);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setWindowTitle(accessibleName());
    auto* table = new QTableView(dialog);
    table->setAccessibleName(accessibleName());
    table->setModel(new ChartTable(x_, y_, lines_, table));
    make_plain_table(*table);
    table->horizontalHeader()->setSectionResizeMode(QHeaderView::Stretch);
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close, dialog);
    connect(buttons, &QDialogButtonBox::rejected, dialog, &QDialog::close);
    auto* layout = new QVBoxLayout(dialog);
    layout->addWidget(table);
    layout->addWidget(buttons);
    dialog->resize(fontMetrics().averageCharWidth() * 70, fontMetrics().height() * 24);
    dialog->show();
    return dialog;
}

} // namespace palimpsest::ui
