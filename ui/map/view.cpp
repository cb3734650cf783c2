#include "ui/map/view.h"

#include <QAccessible>
#include <QPainter>
#include <QScrollBar>
#include <algorithm>
#include <cmath>

#include "ui/map/map_actions.h"
#include "ui/map/readout.h"
#include "ui/map/table_window.h"

namespace palimpsest::ui {
namespace {

bool same_shape(const MapRows& rows, const engine::RetentionMap& map)
{
    return rows.layers() == map.layers && rows.kv_heads() == map.kv_heads;
}

} // namespace

RetentionView::RetentionView(QWidget* parent)
    : QAbstractScrollArea(parent), readout_(new MapReadout(this)), actions_(new MapActions(this))
{
    install_accessibility();
    setAccessibleName(tr("Retained-token map"));
    setAccessibleDescription(
        tr("Which tokens of the stream each layer and head keeps. Arrow keys move the crosshair, plus and minus "
           "zoom, Enter shows a layer's heads, T shows the map as a table."));
    setFocusPolicy(Qt::StrongFocus);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    setFrameShape(QFrame::NoFrame);
    viewport()->setMouseTracking(true);
    viewport()->setBackgroundRole(QPalette::Window);
    connect(&pacer_, &FramePacer::due, viewport(), [this] { viewport()->update(); });
    connect(&exporter_, &MapExporter::file_chosen, this, &RetentionView::save_as);
    connect(&exporter_, &MapExporter::ended, this, &RetentionView::export_ended);
    connect(actions_, &MapActions::whole_wanted, this, &RetentionView::reset_zoom);
    connect(actions_, &MapActions::expand_wanted, this, &RetentionView::expand_all);
    connect(actions_, &MapActions::collapse_wanted, this, &RetentionView::collapse_all);
    connect(actions_, &MapActions::token_wanted, this, &RetentionView::activate_token);
    connect(actions_, &MapActions::table_wanted, this, &RetentionView::show_table);
    connect(actions_, &MapActions::export_wanted, this, &RetentionView::choose_export);
    scene_.has_handles = true;
    arrange();
}

RetentionView::~RetentionView() = default;

// ---- contents

void RetentionView::set_map(std::shared_ptr<const engine::RetentionMap> map, uint64_t length)
{
    const uint64_t whole = map ? std::max(length, map->tokens_seen) : 0;
    if (map == scene_.map && whole == scene_.window.length()) return;
    const bool same = map && scene_.map && same_shape(scene_.rows, *map);
    scene_.map = std::move(map);
    if (!same) {
        MapScene fresh = MapScene::of(scene_.map, whole);
        scene_.rows = fresh.rows;
        scene_.window = fresh.window;
        scene_.selection.reset();
        set_place({});
    }
    scene_.window.set_length(whole);
    refresh_cell();
    repaint_later();
}

void RetentionView::set_marks(MapMarks marks)
{
    scene_.marks = std::move(marks);
    repaint_later();
}

void RetentionView::set_highlights(std::vector<StreamRange> sources)
{
    scene_.marks.highlights = std::move(sources);
    repaint_later();
}

void RetentionView::set_compact(bool compact)
{
    scene_.has_legend = !compact;
    readout_->setVisible(!compact);
    arrange();
    repaint_later();
}

void RetentionView::set_describe(Describe describe)
{
    describe_ = std::move(describe);
}

void RetentionView::show_tokens(StreamRange range)
{
    const auto first = static_cast<double>(range.first), last = static_cast<double>(range.last);
    const double margin = std::max(2 * (last - first), 32.0);
    scene_.window.show(first - margin, last + margin);
    refresh_cell();
    repaint_later();
}

void RetentionView::show_window(double first, double last)
{
    if (first == scene_.window.first() && last == scene_.window.last()) return;
    scene_.window.show(first, last);
    refresh_cell();
    repaint_later();
}

void RetentionView::reset_zoom()
{
    scene_.window.reset();
    scene_.selection.reset();
    refresh_cell();
    repaint_later();
}

void RetentionView::zoom(double factor)
{
    const VisibleRange& window = scene_.window;
    double at = (window.first() + window.last()) / 2;
    if (place_) at = (static_cast<double>(place_->tokens.first) + static_cast<double>(place_->tokens.last)) / 2;
    // Zooms around the first or last token if the crosshair is on it, so that it stays visible.
    if (place_ && place_->tokens.first == 0) at = 0;
    if (place_ && place_->tokens.last == window.length()) at = window.last();
    scene_.window.zoom(factor, std::clamp(at, window.first(), window.last()));
    refresh_cell();
    repaint_later();
}

void RetentionView::set_expanded(int32_t layer, bool expanded)
{
    scene_.rows.set_expanded(layer, expanded);
    if (place_ && !expanded && place_->row.layer == layer) place_->row.head = -1;
    repaint_later();
}

void RetentionView::expand_all()
{
    scene_.rows.expand_all(true);
    repaint_later();
}

void RetentionView::collapse_all()
{
    scene_.rows.expand_all(false);
    if (place_) place_->row.head = -1;
    repaint_later();
}

// ---- painting

void RetentionView::repaint_later()
{
    pacer_.invalidate();
    const std::pair now{scene_.window.first(), scene_.window.last()};
    if (std::exchange(told_window_, now) != now) Q_EMIT window_changed(now.first, now.second);
}

MapGrid RetentionView::grid() const
{
    const RetentionPainter painter(font(), palette());
    return {scene_, painter.layout(scene_, viewport()->rect(), verticalScrollBar()->value()), devicePixelRatioF()};
}

void RetentionView::arrange()
{
    const int line = readout_->natural_height();
    setViewportMargins(0, 0, 0, scene_.has_legend ? line : 0);
    readout_->setGeometry(0, height() - line, width(), line);
    const MapLayout now = grid().layout();
    verticalScrollBar()->setRange(0, static_cast<int>(std::ceil(now.rows_height - now.plot.height())));
    verticalScrollBar()->setPageStep(std::max(1, static_cast<int>(now.plot.height())));
    verticalScrollBar()->setSingleStep(std::max(1, static_cast<int>(now.row_height)));
    readout_->show_cell(scene_, place_);
}

void RetentionView::render()
{
    arrange();
    const double ratio = devicePixelRatioF();
    const QSize size = (QSizeF(viewport()->size()) * ratio).toSize();
    if (picture_.size() != size) picture_ = QImage(size, QImage::Format_RGB32);
    picture_.setDevicePixelRatio(ratio);
    const RetentionPainter painter(font(), palette());
    picture_.fill(painter.background());
    QPainter device(&picture_);
    painter.paint(device, scene_, grid().layout(), RetentionPainter::Style::Pixels, ratio);
    device.end();
    if (table_window_ && table_window_->isVisible()) table_window_->set_scene(scene_);
    pacer_.rendered();
}

void RetentionView::paintEvent(QPaintEvent*)
{
    QPainter painter(viewport());
    if (!scene_.map || scene_.window.length() == 0) {
        if (!pacer_.is_current()) render();
        return paint_empty(painter);
    }
    // Other paint events draw the old picture: it is rendered at most 30 times a second.
    if (pacer_.may_render()) render();
    painter.drawImage(0, 0, picture_); // clipped to the event's region
    if (place_) RetentionPainter(font(), palette()).paint_crosshair(painter, scene_, grid().layout(), *place_);
    if (!hasFocus()) return;
    painter.setPen(RetentionPainter(font(), palette()).mark());
    painter.drawRect(viewport()->rect().adjusted(0, 0, -1, -1));
}

void RetentionView::paint_empty(QPainter& painter) const
{
    const RetentionPainter colors(font(), palette());
    painter.fillRect(viewport()->rect(), colors.background());
    painter.setPen(colors.quiet());
    const int margin = fontMetrics().height();
    painter.drawText(viewport()->rect().adjusted(margin, margin, -margin, -margin),
                     Qt::AlignCenter | Qt::TextWordWrap,
                     scene_.map ? tr("Nothing is read yet.\nThe map fills as the document streams in.")
                                : tr("No session is open.\nWhat each layer and head keeps appears here."));
}

void RetentionView::resizeEvent(QResizeEvent* event)
{
    QAbstractScrollArea::resizeEvent(event);
    // Renders at once, because the old picture would be stretched.
    pacer_.invalidate_at_once();
    arrange();
    viewport()->update();
}

void RetentionView::scrollContentsBy(int, int)
{
    repaint_later();
}

void RetentionView::changeEvent(QEvent* event)
{
    QAbstractScrollArea::changeEvent(event);
    if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange ||
        event->type() == QEvent::StyleChange || event->type() == QEvent::LanguageChange)
        repaint_later();
}

QSize RetentionView::sizeHint() const
{
    return {fontMetrics().averageCharWidth() * 70, fontMetrics().height() * 20};
}

QSize RetentionView::minimumSizeHint() const
{
    return {fontMetrics().averageCharWidth() * 24, fontMetrics().height() * 10};
}

// ---- the crosshair

void RetentionView::set_place(std::optional<MapCell> place)
{
    if (place == place_) return;
    const auto update_crosshair = [this] {
        if (!place_) return;
        const RetentionPainter painter(font(), palette());
        const auto [along, across] = painter.crosshair_strips(scene_, grid().layout(), *place_);
        viewport()->update(along.toAlignedRect());
        viewport()->update(across.toAlignedRect());
    };
    update_crosshair();
    place_ = place;
    update_crosshair();
    readout_->show_cell(scene_, place_);
    QAccessibleValueChangeEvent changed(this, place_ ? QVariant(static_cast<qulonglong>(place_->tokens.first))
                                                     : QVariant());
    QAccessible::updateAccessibility(&changed);
    Q_EMIT place_changed();
}

// After a change of the visible range, the crosshair stays on its token, which may now be in another cell.
void RetentionView::refresh_cell()
{
    if (!place_) return;
    set_place(grid().cell_of(place_->row, place_->tokens.first));
    if (place_) readout_->show_cell(scene_, place_);
}

QString RetentionView::place_text() const
{
    if (!place_ || !scene_.map) return MapReadout::text_of(scene_, place_);
    const CellFacts facts = facts_of(*scene_.map, *place_);
    QStringList lines = {cell_sentence(*place_, facts, scene_.map->tokens_seen)};
    if (place_->tokens.first < scene_.map->tokens_seen) lines += token_sentence(*place_, facts);
    const QString more = describe_ ? describe_(facts.token) : QString();
    if (const MapSection* const section = section_at(scene_.marks.sections, facts.token);
        section && !more.contains(section->title))
        lines += section->title;
    if (!more.isEmpty()) lines += more;
    return lines.join(QLatin1Char('\n'));
}

// ---- table and files

void RetentionView::show_table()
{
    if (!table_window_) {
        table_window_ = new MapTableWindow(this);
        connect(table_window_, &MapTableWindow::token_activated, this, [this](quint64 token) {
            move_to(token);
            Q_EMIT token_activated(token);
        });
    }
    table_window_->set_scene(scene_);
    table_window_->show();
    table_window_->raise();
    table_window_->activateWindow();
}

void RetentionView::save_as(const QString& file)
{
    exporter_.save(file, scene_, picture_options(*this));
}

void RetentionView::choose_export()
{
    if (scene_.map) exporter_.ask(this);
}

} // namespace palimpsest::ui
