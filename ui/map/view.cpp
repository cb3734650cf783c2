#include "ui/map/view.h"

#include <QAccessible>
#include <QAction>
#include <QApplication>
#include <QFileDialog>
#include <QLabel>
#include <QPainter>
#include <QScrollBar>
#include <algorithm>
#include <cmath>

#include "ui/map/table.h"
#include "ui/map/table_window.h"

namespace palimpsest::ui {
namespace {

constexpr int milliseconds_between_frames = 33;
constexpr double zoom_step = 1.5;

bool same_shape(const MapRows& rows, const engine::RetentionMap& map)
{
    return rows.layers() == map.layers && rows.kv_heads() == map.kv_heads;
}

} // namespace

RetentionView::RetentionView(QWidget* parent)
    : QAbstractScrollArea(parent), readout_(new QLabel(this)), table_(std::make_unique<RetentionTable>())
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
    readout_->setTextFormat(Qt::PlainText);
    readout_->setAccessibleName(tr("Place of the crosshair"));
    readout_->setTextInteractionFlags(Qt::NoTextInteraction);
    readout_->setIndent(fontMetrics().averageCharWidth());
    later_.setSingleShot(true);
    later_.setTimerType(Qt::PreciseTimer);
    connect(&later_, &QTimer::timeout, this, [this] {
        since_painted_.invalidate();
        viewport()->update();
    });
    connect(files_, &FileWriter::ended, this, &RetentionView::export_ended);
    scene_.has_handles = true;
    make_actions();
    arrange();
}

RetentionView::~RetentionView()
{
    delete table_window_; // it references table_
}

QAction* RetentionView::add(const QString& text, const QKeySequence& key, void (RetentionView::*slot)())
{
    auto* const action = new QAction(text, this);
    action->setShortcut(key);
    action->setShortcutContext(Qt::WidgetWithChildrenShortcut);
    connect(action, &QAction::triggered, this, slot);
    addAction(action);
    return action;
}

void RetentionView::make_actions()
{
    reset_action_ = add(tr("Show the &whole stream"), Qt::Key_0, &RetentionView::reset_zoom);
    expand_action_ = add(tr("&Expand all layers"), Qt::Key_Asterisk, &RetentionView::expand_all);
    collapse_action_ = add(tr("&Collapse all layers"), Qt::Key_Slash, &RetentionView::collapse_all);
    token_action_ = add(tr("&Go to this token"), Qt::Key_Space, &RetentionView::activate_token);
    table_action_ = add(tr("Show as &table…"), Qt::Key_T, &RetentionView::show_table);
    export_action_ = add(tr("E&xport…"), Qt::Key_E, &RetentionView::choose_export);
}

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

void RetentionView::set_title(const QString& title)
{
    title_ = title;
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

void RetentionView::set_writers(MapWriters writers)
{
    writers_ = std::move(writers);
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

void RetentionView::tell_window()
{
    const std::pair now{scene_.window.first(), scene_.window.last()};
    if (std::exchange(told_window_, now) != now) Q_EMIT window_changed(now.first, now.second);
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
    // Keeps the first or last token visible if the crosshair is on it.
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
    out_of_date_ = true;
    tell_window();
    if (later_.isActive()) return;
    const qint64 waited = since_painted_.isValid() ? since_painted_.elapsed() : milliseconds_between_frames;
    later_.start(static_cast<int>(std::max<qint64>(0, milliseconds_between_frames - waited)));
}

MapLayout RetentionView::layout_now() const
{
    return RetentionPainter(font(), palette()).layout(scene_, viewport()->rect(), verticalScrollBar()->value());
}

TokenColumns RetentionView::columns() const
{
    return RetentionPainter::columns(scene_, layout_now(), devicePixelRatioF());
}

void RetentionView::arrange()
{
    const int line = readout_->fontMetrics().height() * 3 / 2;
    setViewportMargins(0, 0, 0, scene_.has_legend ? line : 0);
    readout_->setGeometry(0, height() - line, width(), line);
    const MapLayout now = layout_now();
    verticalScrollBar()->setRange(0, static_cast<int>(std::ceil(now.rows_height - now.plot.height())));
    verticalScrollBar()->setPageStep(std::max(1, static_cast<int>(now.plot.height())));
    verticalScrollBar()->setSingleStep(std::max(1, static_cast<int>(now.row_height)));
    show_readout();
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
    painter.paint(device, scene_, layout_now(), RetentionPainter::Style::Pixels, ratio);
    device.end();
    if (table_window_ && table_window_->isVisible()) refresh_table();
    out_of_date_ = false;
    ++frames_;
    later_.stop();
    since_painted_.start();
}

void RetentionView::paintEvent(QPaintEvent*)
{
    QPainter painter(viewport());
    if (!scene_.map || scene_.window.length() == 0) {
        if (out_of_date_) render();
        return paint_empty(painter);
    }
    // Paint events between two ticks of the timer reuse the old picture.
    if (out_of_date_ && !since_painted_.isValid()) render();
    painter.drawImage(0, 0, picture_); // clipped to the event's region
    if (place_) RetentionPainter(font(), palette()).paint_crosshair(painter, scene_, layout_now(), *place_);
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
    later_.stop();
    since_painted_.invalidate();
    out_of_date_ = true;
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
    update_crosshair();
    place_ = place;
    update_crosshair();
    show_readout();
    QAccessibleValueChangeEvent changed(this, place_ ? QVariant(static_cast<qulonglong>(place_->tokens.first))
                                                     : QVariant());
    QAccessible::updateAccessibility(&changed);
    Q_EMIT place_changed();
}

void RetentionView::update_crosshair()
{
    if (!place_) return;
    const auto [along, across] =
        RetentionPainter(font(), palette()).crosshair_strips(scene_, layout_now(), *place_);
    viewport()->update(along.toAlignedRect());
    viewport()->update(across.toAlignedRect());
}

std::optional<MapCell> RetentionView::place_at(const QPointF& at) const
{
    const MapLayout now = layout_now();
    const int row = now.row_at(at.y(), scene_.rows.count());
    const TokenColumns divided = columns();
    const double left = std::floor((at.x() - now.plot.left()) * devicePixelRatioF());
    if (!scene_.map || row < 0 || left < 0 || left >= divided.count()) return std::nullopt;
    return MapCell{scene_.rows.at(row), divided.tokens(static_cast<int>(left))};
}

// After a change of the visible range, the crosshair stays on its token, which may now be in another cell.
void RetentionView::refresh_cell()
{
    if (!place_) return;
    const TokenColumns divided = columns();
    const int column =
        divided.column_of(std::min(place_->tokens.first, std::max<uint64_t>(1, scene_.window.length()) - 1));
    if (divided.count() == 0 || column < 0 || column >= divided.count()) return set_place({});
    set_place(MapCell{place_->row, divided.tokens(column)});
    show_readout();
}

QString RetentionView::cell_text() const
{
    if (!scene_.map || scene_.window.length() == 0) return {};
    if (!place_) {
        const auto seen = static_cast<qulonglong>(scene_.map->tokens_seen);
        return tr("%1 tokens read, %2 to %3 shown")
            .arg(QLocale().toString(seen), QLocale().toString(static_cast<qulonglong>(scene_.window.first())),
                 QLocale().toString(static_cast<qulonglong>(std::ceil(scene_.window.last())) - 1));
    }
    return cell_sentence(*place_, facts_of(*scene_.map, *place_), scene_.map->tokens_seen);
}

void RetentionView::show_readout()
{
    const int room = readout_->width() - 2 * readout_->indent();
    readout_->setText(readout_->fontMetrics().elidedText(cell_text(), Qt::ElideRight, room));
}

QString RetentionView::place_text() const
{
    if (!place_ || !scene_.map) return cell_text();
    const CellFacts facts = facts_of(*scene_.map, *place_);
    QStringList lines = {cell_sentence(*place_, facts, scene_.map->tokens_seen)};
    if (place_->tokens.first < scene_.map->tokens_seen) lines += token_sentence(*place_, facts);
    if (const MapSection* const section = section_at(scene_.marks.sections, facts.token)) lines += section->title;
    if (const QString more = describe_ ? describe_(facts.token) : QString(); !more.isEmpty()) lines += more;
    return lines.join(QLatin1Char('\n'));
}

// ---- table and files

void RetentionView::refresh_table()
{
    table_->set_scene(scene_);
    if (table_window_) table_window_->sections_changed();
}

RetentionTable& RetentionView::table()
{
    refresh_table();
    return *table_;
}

void RetentionView::show_table()
{
    refresh_table();
    if (!table_window_) {
        table_window_ = new MapTableWindow(*table_, this);
        connect(table_window_, &MapTableWindow::token_activated, this, [this](quint64 token) {
            move_to(token);
            Q_EMIT token_activated(token);
        });
    }
    table_window_->show();
    table_window_->raise();
    table_window_->activateWindow();
}

void RetentionView::write_with(FileWriter& files)
{
    delete std::exchange(files_, &files);
}

void RetentionView::save_as(const QString& file)
{
    MapScene titled = scene_;
    titled.title = title_;
    titled.has_legend = true;
    titled.has_handles = false;
    files_->write(file, map_file(file, titled, picture_options(*this), writers_));
}

void RetentionView::choose_export()
{
    if (!scene_.map) return;
    QStringList filters = {tr("PNG picture (*.png)"), tr("SVG picture (*.svg)")};
    if (writers_.csv) filters += tr("List of kept tokens (*.csv)");
    if (writers_.json) filters += tr("Lists of layers and heads (*.json)");
    auto* const dialog =
        new QFileDialog(this, tr("Export the retained-token map"), {}, filters.join(QLatin1String(";;")));
    dialog->setAcceptMode(QFileDialog::AcceptSave);
    dialog->setDefaultSuffix(QStringLiteral("png"));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    connect(dialog, &QFileDialog::filterSelected, dialog, [dialog](const QString& filter) {
        const qsizetype at = filter.lastIndexOf(QLatin1String("*."));
        dialog->setDefaultSuffix(filter.mid(at + 2, 3) == QLatin1String("jso") ? QStringLiteral("json")
                                                                               : filter.mid(at + 2, 3));
    });
    connect(dialog, &QFileDialog::fileSelected, this, &RetentionView::save_as);
    dialog->open();
}

} // namespace palimpsest::ui
