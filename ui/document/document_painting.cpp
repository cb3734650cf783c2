// Painting of the document view: shades, marks, and the description of a token.
#include <QFontMetricsF>
#include <QLocale>
#include <QPainter>
#include <algorithm>
#include <cmath>

#include "ui/base/theme.h"
#include "ui/document/document_item.h"
#include "ui/document/document_view.h"

namespace palimpsest::ui {
namespace {

bool overlap(StreamRange a, StreamRange b)
{
    return a.first < b.last && b.first < a.last;
}

bool has(StreamRange range, uint64_t token)
{
    return token >= range.first && token < range.last;
}

// Formats runs of layers, such as "0–3, 5".
QString layer_list(const std::vector<int>& layers)
{
    const QLocale locale;
    QStringList runs;
    for (size_t i = 0; i < layers.size();) {
        size_t last = i;
        while (last + 1 < layers.size() && layers[last + 1] == layers[last] + 1)
            ++last;
        runs += last > i ? QStringLiteral("%1–%2").arg(locale.toString(layers[i]), locale.toString(layers[last]))
                         : locale.toString(layers[i]);
        i = last + 1;
    }
    return runs.join(QStringLiteral(", "));
}

QString number(uint64_t value)
{
    return QLocale().toString(static_cast<qulonglong>(value));
}

} // namespace

// Left-to-right text is measured at token boundaries; where writing directions mix, each character is measured.
void DocumentItem::measure_spans()
{
    if (!spans.empty() || layout.lineCount() == 0) return;
    const bool mixed = std::any_of(block.text.begin(), block.text.end(), [](QChar c) {
        return c.isSurrogate() || c.direction() == QChar::DirR || c.direction() == QChar::DirAL ||
               c.direction() == QChar::DirAN;
    });
    for (int i = 0; i < layout.lineCount(); ++i) {
        const QTextLine line = layout.lineAt(i);
        const int end = line.textStart() + line.textLength();
        const QRectF seen = line.naturalTextRect();
        for (int at = line.textStart(); at < end;) {
            const uint64_t token = block.token_at(at);
            const int stop = std::clamp(block.end_of(token), at + 1, end);
            for (int part = at; part < stop;) {
                const int behind = mixed ? part + 1 : stop;
                const qreal a = line.cursorToX(part, QTextLine::Leading);
                const qreal b = mixed ? line.cursorToX(part, QTextLine::Trailing) : line.cursorToX(stop);
                // Clip spaces at the end of a line, which extend beyond its text.
                const qreal left = std::max(std::min(a, b), seen.left()),
                            right = std::min(std::max(a, b), seen.right());
                Span* last = spans.empty() ? nullptr : &spans.back();
                const bool goes_on = last && last->token == token && last->line == i;
                if (goes_on && std::abs(last->right - left) < 0.5)
                    last->right = right;
                else if (goes_on && std::abs(last->left - right) < 0.5)
                    last->left = left;
                else if (right > left)
                    spans.push_back({token, i, left, right});
                part = behind;
            }
            at = stop;
        }
    }
}

void DocumentView::refresh_shades()
{
    shades_ = ShadeTable(colors_ ? colors_ : default_shades(palette()), palette());
    viewport()->update();
}

void DocumentView::set_shades(ShadeColors colors)
{
    colors_ = std::move(colors);
    refresh_shades();
}

void DocumentView::set_shaded(bool shaded)
{
    shaded_ = shaded;
    viewport()->update();
}

void DocumentView::set_underlined(bool underlined)
{
    underlined_ = underlined;
    viewport()->update();
}

void DocumentView::set_kept(std::shared_ptr<const engine::RetentionMap> kept)
{
    kept_ = std::move(kept);
    viewport()->update();
}

void DocumentView::set_time(std::shared_ptr<const FadeIndex> index, int step, uint64_t tokens_read)
{
    past_ = std::move(index), past_step_ = step, past_tokens_ = tokens_read;
    viewport()->update();
}

void DocumentView::set_pins(std::vector<StreamRange> pins)
{
    pins_ = std::move(pins);
    viewport()->update();
}

void DocumentView::set_highlights(std::vector<Highlight> highlights)
{
    highlights_ = std::move(highlights);
    viewport()->update();
}

void DocumentView::set_matches(std::vector<StreamRange> matches)
{
    matches_ = std::move(matches);
    viewport()->update();
}

void DocumentView::set_current_match(std::optional<StreamRange> match)
{
    current_match_ = match;
    viewport()->update();
}

uint64_t DocumentView::tokens_read() const
{
    if (past_) return past_tokens_;
    return kept_ ? kept_->tokens_seen : 0;
}

std::vector<double> DocumentView::shares(StreamRange range) const
{
    std::vector<double> all(range.last - range.first);
    if (past_) {
        for (uint64_t token = range.first; token < range.last; ++token)
            all[token - range.first] =
                static_cast<double>(past_->layers_holding(token, past_step_)) / std::max(1, past_->layers());
    } else if (kept_ && !kept_->tokens.empty()) {
        const auto counts = kept_counts(*kept_, range);
        for (size_t i = 0; i < all.size(); ++i)
            all[i] = static_cast<double>(counts[i]) / static_cast<double>(kept_->tokens.size());
    }
    return all;
}

double DocumentView::share_of(uint64_t token) const
{
    return token < tokens_read() ? shares({token, token + 1}).front() : 0;
}

void DocumentView::paintEvent(QPaintEvent*)
{
    QPainter painter(viewport());
    painter.fillRect(viewport()->rect(), palette().color(QPalette::Base));
    if (!source_ || source_->tokens() == 0) return paint_empty(painter);
    for (DocumentItem* item : visible_)
        paint_item(painter, *item);
    paint_placeholders(painter);
    paint_caret(painter);
}

void DocumentView::paint_empty(QPainter& painter)
{
    painter.setPen(secondary_text(palette()));
    painter.drawText(viewport()->rect(), Qt::AlignCenter | Qt::TextWordWrap,
                     tr("Nothing has been read yet.\nOpen a document to see here how it is remembered."));
}

void DocumentView::paint_item(QPainter& painter, DocumentItem& item)
{
    paint_caption(painter, item);
    if (item.block.kind == PartKind::Framing) return;
    item.measure_spans();
    std::vector<std::pair<QColor, QRegion>> inks;
    paint_backgrounds(painter, item, shares(item.block.range), inks);
    const QPointF at(text_left(), item.y + item.caption);
    for (const auto& [ink, region] : inks) {
        painter.save();
        if (inks.size() > 1) painter.setClipRegion(region);
        painter.setPen(ink);
        item.layout.draw(&painter, at, {}, QRectF(viewport()->rect()));
        painter.restore();
    }
    paint_marks(painter, item);
}

void DocumentView::paint_backgrounds(QPainter& painter, DocumentItem& item, const std::vector<double>& shares,
                                     std::vector<std::pair<QColor, QRegion>>& inks)
{
    const uint64_t read = tokens_read();
    const StreamRange selected = selection();
    const QColor unread = readable(secondary_text(palette()), palette(), QPalette::Base);
    const QColor under = readable(palette().color(QPalette::Highlight), palette(), QPalette::Base, 3.0);
    const auto region_of = [&](const QColor& ink) -> QRegion& {
        for (auto& [known, region] : inks)
            if (known == ink) return region;
        return inks.emplace_back(ink, QRegion()).second;
    };
    for (const DocumentItem::Span& span : item.spans) {
        const QTextLine line = item.layout.lineAt(span.line);
        const qreal top = item.y + item.caption + line.y();
        if (top + 2 * line.height() < 0 || top - line.height() > viewport()->height()) continue;
        const qreal between = (line_height() - line.height()) / 2;
        const int left = qRound(text_left() + span.left), right = qRound(text_left() + span.right);
        const QRect cell(left, qRound(top - between), right - left,
                         qRound(top + line.height() + between) - qRound(top - between));
        const double share = shares[span.token - item.block.range.first];
        QColor ink = palette().color(QPalette::Text);
        if (has(selected, span.token)) {
            painter.fillRect(cell, palette().color(QPalette::Highlight));
            ink = palette().color(QPalette::HighlightedText);
        } else if (span.token >= read) {
            ink = unread;
        } else if (shaded_ && share > 0) {
            const Shade& shade = shades_.of(share);
            painter.fillRect(cell, shade.background);
            ink = shade.ink;
        }
        region_of(ink) += cell;
        if (!underlined_ || span.token >= read || share <= 0) continue;
        const qreal thick = std::max(1.0, share * line_height() * 0.16);
        painter.fillRect(QRectF(left, cell.bottom() + 1 - thick, right - left - 1, thick),
                         has(selected, span.token) ? ink : under);
    }
}

// Draws a frame around the part of `range` on each line.
void DocumentView::paint_frames(QPainter& painter, DocumentItem& item, StreamRange range, const QColor& color,
                                qreal width)
{
    if (!overlap(range, item.block.range)) return;
    painter.setPen(QPen(color, width));
    painter.setBrush(Qt::NoBrush);
    for (int i = 0; i < item.layout.lineCount(); ++i) {
        QRectF frame;
        for (const DocumentItem::Span& span : item.spans)
            if (span.line == i && has(range, span.token))
                frame |= QRectF(text_left() + span.left, item.y + item.caption + item.layout.lineAt(i).y(),
                                span.right - span.left, item.layout.lineAt(i).height());
        if (!frame.isEmpty()) painter.drawRect(frame.adjusted(-1, 0, 1, 0));
    }
}

// Marks pins and chapters left of the text and highlights right of it; frames matches and the range just shown.
void DocumentView::paint_marks(QPainter& painter, DocumentItem& item)
{
    const qreal em = fontMetrics().height(), left = text_left() - 0.6 * em;
    const QColor mark = accent(palette());
    const auto extent = [&](StreamRange range) {
        const uint64_t first = std::max(range.first, item.block.range.first);
        const uint64_t last = std::min(range.last, item.block.range.last) - 1;
        return QRectF(0, item.y + item.line_top(first), 0, item.line_top(last) - item.line_top(first) + em);
    };
    painter.setRenderHint(QPainter::Antialiasing);
    for (const StreamRange& pin : pins_) {
        if (!overlap(pin, item.block.range)) continue;
        const QRectF rows = extent(pin);
        painter.fillRect(QRectF(left, rows.top(), std::max(2.0, em * 0.14), rows.height()), mark);
        if (!has(item.block.range, pin.first)) continue;
        painter.setPen(Qt::NoPen);
        painter.setBrush(mark);
        painter.drawEllipse(QPointF(left + em * 0.07, rows.top() + em * 0.3), em * 0.24, em * 0.24);
    }
    for (const Highlight& highlight : highlights_) {
        if (!overlap(highlight.range, item.block.range)) continue;
        const QRectF rows = extent(highlight.range);
        painter.setPen(
            QPen(mark, std::max(1.5, em * (0.08 + 0.2 * std::clamp(highlight.weight, 0.0, 1.0))), Qt::DotLine));
        const qreal x = text_left() + text_width() + 0.4 * em;
        painter.drawLine(QPointF(x, rows.top()), QPointF(x, rows.bottom()));
        paint_frames(painter, item, highlight.range, mark, 1);
    }
    painter.setRenderHint(QPainter::Antialiasing, false);
    const auto first = std::ranges::upper_bound(matches_, item.block.range.first, {}, &StreamRange::last);
    for (auto match = first; match != matches_.end() && match->first < item.block.range.last; ++match)
        paint_frames(painter, item, *match, mark, 1);
    if (current_match_) paint_frames(painter, item, *current_match_, palette().color(QPalette::Text), 2);
    if (flash_) {
        QColor color = mark;
        color.setAlphaF(flashing_.state() == QVariantAnimation::Running ? flashing_.currentValue().toFloat()
                                                                        : 1.0F);
        paint_frames(painter, item, *flash_, color, 2);
    }
    const Heading* heading = source_->outline().heading_of(item.block.range.last - 1);
    if (!heading || heading->token < item.block.range.first) return;
    painter.setPen(secondary_text(palette()));
    painter.drawText(QRectF(left - 1.4 * em, item.y + item.line_top(heading->token), 1.2 * em, em),
                     Qt::AlignRight | Qt::AlignTop, QStringLiteral("§"));
}

QString DocumentView::caption_of(const DocumentItem& item) const
{
    switch (item.block.kind) {
    case PartKind::Framing:
        return tr("%n token(s) of framing", nullptr,
                  static_cast<int>(item.block.range.last - item.block.range.first));
    case PartKind::Document:
        return source_->outline().part_of(item.block.range.first).title;
    case PartKind::Question:
        return tr("You");
    case PartKind::Answer:
        return tr("Palimpsest");
    }
    return {};
}

void DocumentView::paint_caption(QPainter& painter, const DocumentItem& item)
{
    if (item.caption <= 0) return;
    const bool framing = item.block.kind == PartKind::Framing;
    const QRectF row(text_left(), item.y + item.caption - line_height(), text_width(), line_height());
    QFont small = font();
    if (framing)
        small.setPointSizeF(small.pointSizeF() * 0.85);
    else
        small.setBold(true);
    painter.setFont(small);
    painter.setPen(secondary_text(palette()));
    const QString words =
        QFontMetricsF(small, viewport()).elidedText(caption_of(item), Qt::ElideRight, row.width());
    painter.drawText(row, Qt::AlignVCenter | Qt::AlignLeft, words);
    painter.setFont(font());
    const qreal x =
        row.left() + QFontMetricsF(small, viewport()).horizontalAdvance(words) + fontMetrics().height() / 2.0;
    painter.setPen(separator(palette()));
    if (framing && x < row.right())
        painter.drawLine(QPointF(x, row.center().y()), QPointF(row.right(), row.center().y()));
}

// Draws bars in place of text whose pages are not loaded yet.
void DocumentView::paint_placeholders(QPainter& painter)
{
    const QColor gray = separator(palette());
    const auto fill = [&](qreal from, qreal to) {
        int row = 0;
        for (qreal y = from; y + line_height() <= to + 1; y += line_height(), ++row) {
            const qreal share = row % 7 == 6 ? 0.45 : 1 - 0.06 * (row % 4);
            painter.fillRect(
                QRectF(text_left(), y + line_height() * 0.35, text_width() * share, line_height() * 0.3), gray);
        }
    };
    if (missing_above_) fill(std::fmod(*missing_above_, line_height()), *missing_above_);
    if (missing_below_) fill(std::max(*missing_below_, line_height() / 2), viewport()->height());
}

void DocumentView::paint_caret(QPainter& painter)
{
    if (!hasFocus() || visible_.empty()) return;
    const bool at_end = caret_ >= source_->tokens();
    const uint64_t token = at_end ? source_->tokens() - 1 : caret_;
    const DocumentItem* item = visible_item(token);
    if (!item) return;
    if (item->layout.lineCount() == 0) {
        painter.fillRect(
            QRectF(text_left() - 2, item->y, std::max(2.0, fontMetrics().height() / 12.0), item->height),
            palette().color(QPalette::Text));
        return;
    }
    const int position = at_end ? item->block.end_of(token) : item->block.start_of(token);
    const QTextLine line = item->layout.lineForTextPosition(position);
    if (!line.isValid()) return;
    const qreal x = text_left() + line.cursorToX(position);
    painter.fillRect(QRectF(x - 1, item->y + item->caption + line.y(), std::max(2.0, fontMetrics().height() / 12.0),
                            line.height()),
                     palette().color(QPalette::Text));
}

QString DocumentView::describe(uint64_t token) const
{
    QStringList lines;
    const QString text = token_text(token).trimmed();
    lines += text.isEmpty() ? tr("Token %1").arg(number(token)) : tr("Token %1: %2").arg(number(token), text);
    if (const Heading* heading = source_ ? source_->outline().heading_of(token) : nullptr;
        heading && !heading->title.isEmpty())
        lines += heading->title;
    if (token >= tokens_read()) {
        lines += past_ ? tr("not read yet at that time") : tr("not read yet");
    } else if (past_) {
        lines += tr("held by %1 of %2 layers at that time")
                     .arg(number(static_cast<uint64_t>(past_->layers_holding(token, past_step_))),
                          number(static_cast<uint64_t>(past_->layers())));
    } else if (kept_) {
        const auto held = holders(*kept_, token);
        std::vector<int> layers;
        for (const Holder& holder : held)
            if (layers.empty() || layers.back() != holder.layer) layers.push_back(holder.layer);
        const QString all = number(kept_->tokens.size());
        lines += held.empty() ? tr("held by none of %1").arg(all)
                              : tr("held by %1 of %2: layers %3").arg(number(held.size()), all, layer_list(layers));
        if (!held.empty())
            lines += tr("rank %1 of %2 in layer %3, head %4")
                         .arg(number(held.front().rank + 1), number(held.front().kept),
                              number(static_cast<uint64_t>(held.front().layer)),
                              number(static_cast<uint64_t>(held.front().head)));
        lines += tr("%1 tokens ago").arg(number(kept_->tokens_seen - token));
    }
    if (std::ranges::any_of(pins_, [&](StreamRange pin) { return has(pin, token); })) lines += tr("pinned");
    for (const Highlight& highlight : highlights_)
        if (has(highlight.range, token) && !highlight.label.isEmpty()) lines += highlight.label;
    return lines.join(u'\n');
}

} // namespace palimpsest::ui
