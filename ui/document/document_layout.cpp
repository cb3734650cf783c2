#include "ui/document/document_layout.h"

#include <QStringList>
#include <algorithm>
#include <cmath>

namespace palimpsest::ui {

void DocumentLayout::set_source(TextSource* source)
{
    source_ = source;
    visible_.clear();
    items_.set_source(source);
}

void DocumentLayout::set_column(const TextColumn& column)
{
    items_.set_column(column);
}

void DocumentLayout::forget()
{
    visible_.clear();
    items_.forget_all();
}

DocumentItem* DocumentLayout::laid_item(uint64_t token)
{
    for (DocumentItem* item : visible_)
        if (item->has_token(token)) return item;
    return items_.item_of(token);
}

void DocumentLayout::lay_out()
{
    missing_above_.reset(), missing_below_.reset();
    complete_ = true;
    if (!source_ || source_->tokens() == 0) {
        visible_.clear();
        return;
    }
    place_.token = std::min(place_.token, source_->tokens() - 1);
    DocumentItem* item = laid_item(place_.token);
    visible_.clear();
    if (item) {
        const uint64_t first = item->block.range.first;
        const qreal top = place_.y - item->line_top(place_.token);
        place_down(top, first);
        place_up(top, first);
        clamp();
    } else {
        missing_below_ = 0.0;
    }
    complete_ = !missing_above_ && !missing_below_;
    items_.trim(visible_);
}

// Appends the blocks from `token` on, the first one at `y`. Returns the bottom of the last one.
qreal DocumentLayout::place_down(qreal y, uint64_t token)
{
    while (y < column().height() && token < source_->tokens()) {
        DocumentItem* item = laid_item(token);
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
qreal DocumentLayout::place_up(qreal y, uint64_t token)
{
    std::vector<DocumentItem*> above;
    while (y > 0 && token > 0) {
        DocumentItem* item = laid_item(token - 1);
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
void DocumentLayout::clamp()
{
    if (visible_.empty()) return;
    const qreal margin = column().line_height() / 2;
    const bool at_end = visible_.back()->block.range.last >= source_->tokens();
    if (const qreal gap = column().height() - margin - visible_.back()->bottom(); at_end && gap > 0) {
        move_all(gap);
        place_up(visible_.front()->y, visible_.front()->block.range.first);
        snap_to_first_line();
    }
    const bool at_start = visible_.front()->block.range.first == 0;
    if (at_start && visible_.front()->y > margin - 0.5) {
        move_all(margin - visible_.front()->y);
        place_down(visible_.back()->bottom(), visible_.back()->block.range.last);
        snap_to_first_line();
    }
    std::erase_if(visible_,
                  [&](const DocumentItem* item) { return item->bottom() <= 0 || item->y >= column().height(); });
}

void DocumentLayout::move_all(qreal dy)
{
    for (DocumentItem* item : visible_)
        item->y += dy;
}

void DocumentLayout::snap_to_first_line()
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

// Starts below any caption of the first line; clamp() then removes the gap above.
void DocumentLayout::go_to_start()
{
    place_ = {0, 4 * column().line_height()};
}

void DocumentLayout::go_to(uint64_t token)
{
    const bool has_caption = source_->outline().part_of(token).range.first == token;
    place_ = {token, column().line_height() * (has_caption ? 2.5 : 0.5)};
}

void DocumentLayout::go_near(uint64_t token)
{
    const bool below = !visible_.empty() && token >= visible_.back()->block.range.last;
    place_ = {token, below ? column().height() - 2 * column().line_height() : column().line_height() / 2};
}

qreal DocumentLayout::distance_to(uint64_t token) const
{
    const DocumentItem* item = item_of(token);
    if (!item) return 0;
    const qreal top = item->y + item->line_top(token), bottom = top + column().line_height();
    if (top < 0) return top - column().line_height() / 4;
    return std::max<qreal>(0, bottom - column().height());
}

StreamRange DocumentLayout::visible_range() const
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
    if (const DocumentItem* end = visible_.back(); end->bottom() > column().height())
        for (int i = end->layout.lineCount() - 1; i > 0; --i) {
            const QTextLine line = end->layout.lineAt(i);
            if (end->y + end->caption + line.y() < column().height()) break;
            last = end->block.token_at(line.textStart());
        }
    return {first, std::max(first, last)};
}

const DocumentItem* DocumentLayout::item_at(qreal y) const
{
    for (const DocumentItem* item : visible_)
        if (y < item->bottom()) return item;
    return visible_.empty() ? nullptr : visible_.back();
}

const DocumentItem* DocumentLayout::item_of(uint64_t token) const
{
    const auto at = std::ranges::upper_bound(visible_, token, {},
                                             [](const DocumentItem* item) { return item->block.range.first; });
    if (at == visible_.begin() || token >= (*std::prev(at))->block.range.last) return nullptr;
    return *std::prev(at);
}

std::optional<uint64_t> DocumentLayout::token_at(QPoint position) const
{
    const DocumentItem* item = item_at(position.y());
    if (!item || item->block.kind == PartKind::Framing || position.y() < item->y + item->caption)
        return std::nullopt;
    const qreal x = position.x() - column().left(), y = position.y() - item->y - item->caption;
    for (int i = 0; i < item->layout.lineCount(); ++i) {
        const QTextLine line = item->layout.lineAt(i);
        if (y >= line.y() + line.height() && i + 1 < item->layout.lineCount()) continue;
        const QRectF text = line.naturalTextRect();
        if (x < text.left() || x > text.right()) return std::nullopt;
        // Where directions mix, a cursor has two places: what was measured for painting tells.
        for (const DocumentItem::Span& span : item->spans)
            if (span.line == i && x >= span.left && x < span.right) return span.token;
        return item->block.token_at(line.xToCursor(x, QTextLine::CursorOnCharacter));
    }
    return std::nullopt;
}

// Returns the token boundary nearest to `position`.
std::optional<uint64_t> DocumentLayout::boundary_at(QPointF position) const
{
    const DocumentItem* item = item_at(position.y());
    if (!item) return std::nullopt;
    if (item->layout.lineCount() == 0 || position.y() < item->y + item->caption) return item->block.range.first;
    const qreal y = position.y() - item->y - item->caption;
    int i = 0;
    while (i + 1 < item->layout.lineCount() && y >= item->layout.lineAt(i + 1).y())
        ++i;
    const QTextLine line = item->layout.lineAt(i);
    const int at = line.xToCursor(position.x() - column().left(), QTextLine::CursorBetweenCharacters);
    const uint64_t token = item->block.token_at(at);
    const int begin = item->block.start_of(token), end = item->block.end_of(token);
    const bool last_line = i + 1 == item->layout.lineCount();
    const bool behind =
        end > begin && 2 * (at - begin) > end - begin && (last_line || end <= line.textStart() + line.textLength());
    return behind && at < static_cast<int>(item->block.text.size()) ? token + 1 : token;
}

QRect DocumentLayout::rect_of(uint64_t token) const
{
    const DocumentItem* item = item_of(token);
    if (!item || item->layout.lineCount() == 0) return {};
    const QTextLine line = item->line_of(token);
    const int begin = item->block.start_of(token);
    const int end = std::min(item->block.end_of(token), line.textStart() + line.textLength());
    const CharacterBox box = item->box_of(line, begin, end);
    return QRectF(column().left() + box.left, item->y + item->caption + line.y(), box.right - box.left,
                  line.height())
        .toAlignedRect();
}

std::optional<uint64_t> DocumentLayout::line_start(uint64_t token) const
{
    const DocumentItem* item = item_of(token);
    if (!item || item->layout.lineCount() == 0) return std::nullopt;
    return item->block.token_at(item->line_of(token).textStart());
}

std::optional<uint64_t> DocumentLayout::line_end(uint64_t token) const
{
    const DocumentItem* item = item_of(token);
    if (!item || item->layout.lineCount() == 0) return std::nullopt;
    const QTextLine line = item->line_of(token);
    const int end = line.textStart() + line.textLength();
    const bool wraps = end < static_cast<int>(item->block.text.size());
    return wraps ? item->block.token_at(end - 1) : item->block.range.last - 1;
}

QString DocumentLayout::token_text(uint64_t token) const
{
    const DocumentItem* item = item_of(token);
    if (!item) return {};
    return item->block.text.mid(item->block.start_of(token),
                                item->block.end_of(token) - item->block.start_of(token));
}

QString DocumentLayout::paragraph(uint64_t token) const
{
    const DocumentItem* item = item_of(token);
    return item ? item->block.text : QString();
}

QString DocumentLayout::beginning_of(StreamRange range, int characters) const
{
    const StreamRange seen = visible_range();
    QString text;
    for (uint64_t token = std::max(range.first, seen.first);
         token < std::min(range.last, seen.last) && text.size() < characters; ++token)
        text += token_text(token);
    return text;
}

QString DocumentLayout::visible_text() const
{
    QStringList blocks;
    for (const DocumentItem* item : visible_)
        blocks += item->block.text;
    return blocks.join(u'\n');
}

} // namespace palimpsest::ui
