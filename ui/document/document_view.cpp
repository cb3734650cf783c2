#include "ui/document/document_view.h"

#include <QClipboard>
#include <QGuiApplication>
#include <QScrollBar>
#include <QStyle>
#include <QTextOption>
#include <algorithm>
#include <cmath>

#include "ui/document/document_item.h"

namespace palimpsest::ui {
namespace {

constexpr qreal leading = 1.35;         // line spacing, in line heights
constexpr int widest_column = 92;       // in average characters; longer lines are hard to read
constexpr size_t kept_items = 384;      // laid out, including the visible ones
constexpr int scroll_bar_end = 1 << 30; // token numbers beyond this are scaled

int scroll_value(uint64_t token, uint64_t tokens)
{
    if (tokens <= scroll_bar_end) return static_cast<int>(token);
    return static_cast<int>(static_cast<double>(token) / static_cast<double>(tokens) * scroll_bar_end);
}

uint64_t scroll_token(int value, uint64_t tokens)
{
    if (tokens <= scroll_bar_end) return static_cast<uint64_t>(value);
    return static_cast<uint64_t>(static_cast<double>(value) / scroll_bar_end * static_cast<double>(tokens));
}

} // namespace

DocumentView::DocumentView(QWidget* parent) : QAbstractScrollArea(parent)
{
    install_accessibility();
    setFocusPolicy(Qt::StrongFocus);
    setAccessibleName(tr("Document"));
    setAccessibleDescription(tr("The text as it was read, shaded by how much of it is still held"));
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOn);
    setFrameShape(QFrame::NoFrame);
    viewport()->setMouseTracking(true);
    viewport()->setCursor(Qt::IBeamCursor);
    viewport()->setBackgroundRole(QPalette::Base);
    verticalScrollBar()->setAccessibleName(tr("Place in the document"));
    connect(verticalScrollBar(), &QScrollBar::valueChanged, this, &DocumentView::scroll_bar_moved);
    connect(verticalScrollBar(), &QScrollBar::actionTriggered, this, &DocumentView::scroll_bar_action);
    drag_timer_.setInterval(30);
    connect(&drag_timer_, &QTimer::timeout, this, &DocumentView::scroll_while_dragging);
    connect(&flashing_, &QVariantAnimation::valueChanged, viewport(), [this] { viewport()->update(); });
    flash_end_.setSingleShot(true);
    connect(&flash_end_, &QTimer::timeout, this, [this] {
        flash_.reset();
        viewport()->update();
    });
    refresh_shades();
    update_scroll_bar();
}

DocumentView::~DocumentView() = default;

void DocumentView::set_source(std::shared_ptr<TextSource> source)
{
    if (source_) source_->disconnect(this);
    Q_EMIT copying(1);
    source_ = std::move(source);
    reader_ = source_ ? std::make_unique<BlockReader>(*source_) : nullptr;
    past_.reset();
    reset_view();
    forget_layout();
    if (source_) {
        connect(source_.get(), &TextSource::page_arrived, this, [this] {
            if (!complete_) lay_out();
        });
        connect(source_.get(), &TextSource::outline_changed, this, &DocumentView::take_outline);
        connect(source_.get(), &TextSource::fetched, this, &DocumentView::take_excerpt);
    }
    lay_out();
    Q_EMIT selection_changed();
}

void DocumentView::take_outline(bool is_another)
{
    reader_ = std::make_unique<BlockReader>(*source_);
    if (is_another) {
        stop_copying();
        reset_view();
    }
    caret_ = std::min(caret_, source_->tokens());
    selection_anchor_ = std::min(selection_anchor_, source_->tokens());
    forget_layout();
    lay_out();
    Q_EMIT selection_changed();
}

// Resets the view to the top without a selection, for a new text.
void DocumentView::reset_view()
{
    place_ = {0, 4 * line_height()}; // below any caption of the first line; clamp() closes the gap
    caret_ = selection_anchor_ = 0;
    matches_.clear(), current_match_.reset(), flash_.reset();
}

void DocumentView::forget_layout()
{
    visible_.clear();
    items_.clear();
}

qreal DocumentView::line_height() const
{
    return fontMetrics().height() * leading;
}

// The left gutter holds the marks of pins and chapters, the right margin those of highlights.
qreal DocumentView::text_left() const
{
    const qreal gutter = 2.2 * fontMetrics().height();
    const qreal free = viewport()->width() - gutter - fontMetrics().height() - text_width();
    return gutter + std::max<qreal>(0, std::floor(free / 2));
}

qreal DocumentView::text_width() const
{
    const qreal there = viewport()->width() - 3.2 * fontMetrics().height();
    return std::max<qreal>(fontMetrics().height() * 4,
                           std::min<qreal>(there, widest_column * fontMetrics().averageCharWidth()));
}

std::unique_ptr<DocumentItem> DocumentView::make_item(TextBlock block) const
{
    const qreal framing_height = line_height();
    auto item = std::make_unique<DocumentItem>(std::move(block));
    if (item->block.kind == PartKind::Framing) {
        item->caption = item->height = framing_height;
        return item;
    }
    if (item->block.begins_part) item->caption = 2 * line_height();
    QTextOption option;
    option.setWrapMode(QTextOption::WrapAtWordBoundaryOrAnywhere);
    option.setTextDirection(Qt::LayoutDirectionAuto);
    option.setTabStopDistance(4 * fontMetrics().horizontalAdvance(u' '));
    item->layout.setFont(font());
    item->layout.setTextOption(option);
    item->layout.setCacheEnabled(true);
    item->layout.beginLayout();
    qreal y = 0;
    for (QTextLine line = item->layout.createLine(); line.isValid(); line = item->layout.createLine()) {
        line.setLineWidth(text_width());
        const qreal height = std::max(line_height(), line.height() * 1.1);
        line.setPosition({0, y + (height - line.height()) / 2});
        y += height;
    }
    item->layout.endLayout();
    item->height = item->caption + std::max(y, line_height());
    return item;
}

DocumentItem* DocumentView::item_of(uint64_t token)
{
    for (DocumentItem* item : visible_)
        if (token >= item->block.range.first && token < item->block.range.last) return item;
    auto block = reader_->block_of(token);
    if (!block) return nullptr;
    auto& item = items_[block->range.first];
    if (!item) item = make_item(std::move(*block));
    return item.get();
}

void DocumentView::lay_out()
{
    if (laying_out_) return;
    laying_out_ = true;
    complete_ = place_items();
    forget_far_items();
    update_scroll_bar();
    laying_out_ = false;
    viewport()->update();
    Q_EMIT scrolled();
}

bool DocumentView::place_items()
{
    missing_above_.reset(), missing_below_.reset();
    if (!source_ || source_->tokens() == 0) {
        visible_.clear();
        return true;
    }
    place_.token = std::min(place_.token, source_->tokens() - 1);
    DocumentItem* item = item_of(place_.token);
    visible_.clear();
    if (!item) {
        missing_below_ = 0.0;
        return false;
    }
    const uint64_t first = item->block.range.first;
    const qreal top = place_.y - item->line_top(place_.token);
    place_down(top, first);
    place_up(top, first);
    clamp();
    return !missing_above_ && !missing_below_;
}

// Appends the blocks from `token` on, the first one at `y`. Returns the bottom of the last one.
qreal DocumentView::place_down(qreal y, uint64_t token)
{
    while (y < viewport()->height() && token < source_->tokens()) {
        DocumentItem* item = item_of(token);
        if (!item) {
            missing_below_ = y;
            return y;
        }
        item->y = y;
        visible_.push_back(item);
        y += item->height;
        token = item->block.range.last;
    }
    return y;
}

// Prepends the blocks before `token`, whose block starts at `y`. Returns the top of the first one.
qreal DocumentView::place_up(qreal y, uint64_t token)
{
    std::vector<DocumentItem*> above;
    while (y > 0 && token > 0) {
        DocumentItem* item = item_of(token - 1);
        if (!item) {
            missing_above_ = y;
            break;
        }
        y -= item->height;
        item->y = y;
        above.push_back(item);
        token = item->block.range.first;
    }
    visible_.insert(visible_.begin(), above.rbegin(), above.rend());
    return y;
}

// Removes any gap above the first block, and below the last one if the text fills the viewport.
void DocumentView::clamp()
{
    if (visible_.empty()) return;
    const qreal margin = line_height() / 2;
    const bool at_end = visible_.back()->block.range.last >= source_->tokens();
    if (const qreal gap = viewport()->height() - margin - visible_.back()->bottom(); at_end && gap > 0) {
        move_all(gap);
        place_up(visible_.front()->y, visible_.front()->block.range.first);
        settle();
    }
    const bool at_start = visible_.front()->block.range.first == 0;
    if (at_start && visible_.front()->y > margin - 0.5) {
        move_all(margin - visible_.front()->y);
        place_down(visible_.back()->bottom(), visible_.back()->block.range.last);
        settle();
    }
    std::erase_if(visible_,
                  [&](const DocumentItem* item) { return item->bottom() <= 0 || item->y >= viewport()->height(); });
}

void DocumentView::move_all(qreal dy)
{
    for (DocumentItem* item : visible_)
        item->y += dy;
}

// Makes the first visible line the scroll position.
void DocumentView::settle()
{
    for (const DocumentItem* item : visible_) {
        if (item->bottom() <= 0) continue;
        for (int i = 0; i < item->layout.lineCount(); ++i) {
            const QTextLine line = item->layout.lineAt(i);
            const qreal top = item->y + item->caption + line.y();
            if (top + line.height() <= 0) continue;
            place_ = {item->block.token_at(line.textStart()), 0};
            place_.y = item->y + item->line_top(place_.token);
            return;
        }
        place_ = {item->block.range.first, 0};
        place_.y = item->y + item->line_top(place_.token);
        return;
    }
}

void DocumentView::forget_far_items()
{
    if (items_.size() <= kept_items) return;
    std::unordered_map<uint64_t, std::unique_ptr<DocumentItem>> kept;
    for (const DocumentItem* item : visible_) {
        const uint64_t first = item->block.range.first;
        kept.emplace(first, std::move(items_[first]));
    }
    items_ = std::move(kept);
}

void DocumentView::update_scroll_bar()
{
    QScrollBar* bar = verticalScrollBar();
    const QSignalBlocker quiet(bar);
    const uint64_t tokens = source_ ? source_->tokens() : 0;
    const StreamRange seen = visible_range();
    const int page =
        std::max(1, scroll_value(seen.last, tokens ? tokens : 1) - scroll_value(seen.first, tokens ? tokens : 1));
    bar->setRange(0, std::max(0, scroll_value(tokens, tokens ? tokens : 1) - page));
    bar->setPageStep(page);
    if (!bar->isSliderDown())
        bar->setValue(scroll_value(seen.first < seen.last ? seen.first : place_.token, tokens));
}

void DocumentView::scroll_bar_moved(int value)
{
    if (!source_ || laying_out_) return;
    const bool at_end = value == verticalScrollBar()->maximum() && value > 0;
    const uint64_t tokens = source_->tokens();
    jump_to(at_end ? tokens - 1 : std::min(scroll_token(value, tokens), tokens - 1));
}

// Steps are lines and pages on the screen, not tokens.
void DocumentView::scroll_bar_action(int action)
{
    const qreal page = viewport()->height() - line_height();
    const auto instead = [&](qreal pixels) {
        verticalScrollBar()->setSliderPosition(verticalScrollBar()->value());
        scroll_by(pixels);
    };
    switch (action) {
    case QAbstractSlider::SliderSingleStepAdd:
        return instead(line_height());
    case QAbstractSlider::SliderSingleStepSub:
        return instead(-line_height());
    case QAbstractSlider::SliderPageStepAdd:
        return instead(page);
    case QAbstractSlider::SliderPageStepSub:
        return instead(-page);
    default:
        return;
    }
}

void DocumentView::jump_to(uint64_t token)
{
    if (!source_ || source_->tokens() == 0) return;
    token = std::min(token, source_->tokens() - 1);
    const bool has_caption = source_->outline().part_of(token).range.first == token;
    place_ = {token, line_height() * (has_caption ? 2.5 : 0.5)};
    lay_out();
}

void DocumentView::scroll_by(qreal pixels)
{
    if (!source_) return;
    place_.y -= pixels;
    lay_out();
    if (!visible_.empty()) settle();
}

void DocumentView::show_range(StreamRange range)
{
    if (!source_ || range.first >= source_->tokens()) return;
    place_ = {range.first, std::floor(viewport()->height() / 3.0)};
    lay_out();
    flash_ = range;
    const int duration = style()->styleHint(QStyle::SH_Widget_Animation_Duration, nullptr, this);
    flashing_.stop();
    if (duration > 0) {
        flashing_.setStartValue(1.0);
        flashing_.setEndValue(0.0);
        flashing_.setDuration(std::max(900, duration));
        flashing_.start();
    }
    flash_end_.start(2500);
    viewport()->update();
}

StreamRange DocumentView::visible_range() const
{
    if (visible_.empty()) return {};
    uint64_t first = visible_.front()->block.range.first, last = visible_.back()->block.range.last;
    if (const DocumentItem* top = visible_.front(); top->y < 0)
        for (int i = 0; i < top->layout.lineCount(); ++i) {
            const QTextLine line = top->layout.lineAt(i);
            if (top->y + top->caption + line.y() + line.height() <= 0) continue;
            first = top->block.token_at(line.textStart());
            break;
        }
    if (const DocumentItem* end = visible_.back(); end->bottom() > viewport()->height())
        for (int i = end->layout.lineCount() - 1; i > 0; --i) {
            const QTextLine line = end->layout.lineAt(i);
            if (end->y + end->caption + line.y() < viewport()->height()) break;
            last = end->block.token_at(line.textStart());
        }
    return {first, std::max(first, last)};
}

const DocumentItem* DocumentView::item_at(qreal y) const
{
    for (const DocumentItem* item : visible_)
        if (y < item->bottom()) return item;
    return visible_.empty() ? nullptr : visible_.back();
}

const DocumentItem* DocumentView::visible_item(uint64_t token) const
{
    const auto at = std::ranges::upper_bound(visible_, token, {},
                                             [](const DocumentItem* item) { return item->block.range.first; });
    if (at == visible_.begin() || token >= (*std::prev(at))->block.range.last) return nullptr;
    return *std::prev(at);
}

std::optional<uint64_t> DocumentView::token_at(QPoint position) const
{
    const DocumentItem* item = item_at(position.y());
    if (!item || item->block.kind == PartKind::Framing || position.y() < item->y + item->caption)
        return std::nullopt;
    const qreal x = position.x() - text_left(), y = position.y() - item->y - item->caption;
    for (int i = 0; i < item->layout.lineCount(); ++i) {
        const QTextLine line = item->layout.lineAt(i);
        if (y >= line.y() + line.height() && i + 1 < item->layout.lineCount()) continue;
        const QRectF text = line.naturalTextRect();
        if (x < text.left() || x > text.right()) return std::nullopt;
        return item->block.token_at(line.xToCursor(x, QTextLine::CursorOnCharacter));
    }
    return std::nullopt;
}

// Returns the token boundary nearest to `position`.
uint64_t DocumentView::boundary_at(QPointF position) const
{
    const DocumentItem* item = item_at(position.y());
    if (!item) return caret_;
    if (item->layout.lineCount() == 0 || position.y() < item->y + item->caption) return item->block.range.first;
    const qreal y = position.y() - item->y - item->caption;
    int i = 0;
    while (i + 1 < item->layout.lineCount() && y >= item->layout.lineAt(i + 1).y())
        ++i;
    const QTextLine line = item->layout.lineAt(i);
    const int at = line.xToCursor(position.x() - text_left(), QTextLine::CursorBetweenCharacters);
    const uint64_t token = item->block.token_at(at);
    const int begin = item->block.start_of(token), end = item->block.end_of(token);
    const bool last_line = i + 1 == item->layout.lineCount();
    const bool behind =
        end > begin && 2 * (at - begin) > end - begin && (last_line || end <= line.textStart() + line.textLength());
    return behind && at < static_cast<int>(item->block.text.size()) ? token + 1 : token;
}

QRect DocumentView::rect_of(uint64_t token) const
{
    const DocumentItem* item = visible_item(token);
    if (!item || item->layout.lineCount() == 0) return {};
    const QTextLine line = item->line_of(token);
    const int begin = item->block.start_of(token);
    const int end = std::min(item->block.end_of(token), line.textStart() + line.textLength());
    const qreal a = line.cursorToX(begin), b = line.cursorToX(end);
    return QRectF(text_left() + std::min(a, b), item->y + item->caption + line.y(), std::abs(b - a), line.height())
        .toAlignedRect();
}

void DocumentView::ensure_visible(uint64_t token)
{
    if (!source_ || source_->tokens() == 0) return;
    token = std::min(token, source_->tokens() - 1);
    const DocumentItem* item = visible_item(token);
    if (!item) {
        const bool below = !visible_.empty() && token >= visible_.back()->block.range.last;
        place_ = {token, below ? viewport()->height() - 2 * line_height() : line_height() / 2};
        return lay_out();
    }
    const qreal top = item->y + item->line_top(token), bottom = top + line_height();
    if (top < 0) scroll_by(top - line_height() / 4);
    if (bottom > viewport()->height()) scroll_by(bottom - viewport()->height());
}

void DocumentView::select(StreamRange range)
{
    const uint64_t end = source_ ? source_->tokens() : 0;
    selection_anchor_ = std::min(range.first, end);
    caret_ = std::min(range.last, end);
    viewport()->update();
    Q_EMIT selection_changed();
}

StreamRange DocumentView::selection() const
{
    return {std::min(caret_, selection_anchor_), std::max(caret_, selection_anchor_)};
}

void DocumentView::set_caret(uint64_t token, bool extend)
{
    const StreamRange before = selection();
    caret_ = std::min(token, source_ ? source_->tokens() : 0);
    if (!extend) selection_anchor_ = caret_;
    ensure_visible(caret_);
    viewport()->update();
    if (selection() != before) Q_EMIT selection_changed();
    Q_EMIT caret_moved();
}

void DocumentView::copy()
{
    if (source_ && selection().first < selection().last) source_->fetch(selection());
}

void DocumentView::stop_copying()
{
    if (source_) source_->fetch({});
    Q_EMIT copying(1);
}

void DocumentView::take_excerpt(const Excerpt& excerpt)
{
    if (!excerpt.text.isEmpty()) QGuiApplication::clipboard()->setText(excerpt.text);
    Q_EMIT copying(excerpt.finished ? 1 : excerpt.share);
}

QString DocumentView::token_text(uint64_t token) const
{
    const DocumentItem* item = visible_item(token);
    if (!item) return {};
    return item->block.text.mid(item->block.start_of(token),
                                item->block.end_of(token) - item->block.start_of(token));
}

QString DocumentView::beginning_of(StreamRange range, int characters) const
{
    const StreamRange seen = visible_range();
    QString text;
    for (uint64_t token = std::max(range.first, seen.first);
         token < std::min(range.last, seen.last) && text.size() < characters; ++token)
        text += token_text(token);
    return text;
}

QString DocumentView::paragraph(uint64_t token) const
{
    const DocumentItem* item = visible_item(token);
    return item ? item->block.text : QString();
}

QString DocumentView::visible_text() const
{
    QStringList blocks;
    for (const DocumentItem* item : visible_)
        blocks += item->block.text;
    return blocks.join(u'\n');
}

int DocumentView::offset_of(uint64_t token) const
{
    int offset = 0;
    for (const DocumentItem* item : visible_) {
        if (token >= item->block.range.first && token < item->block.range.last)
            return offset + item->block.start_of(token);
        offset += static_cast<int>(item->block.text.size()) + 1;
    }
    return -1;
}

uint64_t DocumentView::token_at_offset(int offset) const
{
    for (const DocumentItem* item : visible_) {
        const int length = static_cast<int>(item->block.text.size());
        if (offset <= length) return item->block.token_at(offset);
        offset -= length + 1;
    }
    return visible_range().last;
}

QRect DocumentView::rect_at_offset(int offset) const
{
    for (const DocumentItem* item : visible_) {
        const int length = static_cast<int>(item->block.text.size());
        if (offset > length) {
            offset -= length + 1;
            continue;
        }
        const QTextLine line = item->layout.lineForTextPosition(offset);
        if (!line.isValid()) return {};
        const qreal a = line.cursorToX(offset, QTextLine::Leading), b = line.cursorToX(offset, QTextLine::Trailing);
        return QRectF(text_left() + std::min(a, b), item->y + item->caption + line.y(), std::abs(b - a),
                      line.height())
            .toAlignedRect();
    }
    return {};
}

void DocumentView::resizeEvent(QResizeEvent* event)
{
    QAbstractScrollArea::resizeEvent(event);
    if (event->size().width() != event->oldSize().width()) forget_layout();
    lay_out();
}

void DocumentView::changeEvent(QEvent* event)
{
    QAbstractScrollArea::changeEvent(event);
    if (event->type() == QEvent::FontChange || event->type() == QEvent::StyleChange) {
        forget_layout();
        lay_out();
    }
    if (event->type() == QEvent::PaletteChange || event->type() == QEvent::StyleChange) refresh_shades();
}

} // namespace palimpsest::ui
