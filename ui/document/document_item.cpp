#include "ui/document/document_item.h"

#include <QFontMetrics>
#include <algorithm>
#include <cmath>

#include "ui/base/line_text.h"

namespace palimpsest::ui {
namespace {

bool has_right_to_left(const QString& text)
{
    return std::any_of(text.begin(), text.end(), [](QChar c) {
        return c.isSurrogate() || c.direction() == QChar::DirR || c.direction() == QChar::DirAL ||
               c.direction() == QChar::DirAN;
    });
}

} // namespace

DocumentItem::DocumentItem(TextBlock text, const TextColumn& column) : block(std::move(text)), layout(block.text)
{
    if (block.kind == PartKind::Framing) {
        caption = height = column.line_height();
        return;
    }
    if (block.begins_part) caption = 2 * column.line_height();
    QTextOption option = paragraph_option(block.text);
    option.setTabStopDistance(4 * QFontMetrics(column.font()).horizontalAdvance(u' '));
    layout.setFont(column.font());
    layout.setTextOption(option);
    layout.setCacheEnabled(true);
    layout.beginLayout();
    qreal text_height = 0;
    for (QTextLine line = layout.createLine(); line.isValid(); line = layout.createLine()) {
        line.setLineWidth(column.width());
        const qreal line_height = std::max(column.line_height(), line.height() * 1.1);
        line.setPosition({0, text_height + (line_height - line.height()) / 2});
        text_height += line_height;
    }
    layout.endLayout();
    height = caption + std::max(text_height, column.line_height());
    mixes_directions_ = has_right_to_left(block.text);
}

CharacterBox DocumentItem::box_of(const QTextLine& line, int begin, int end) const
{
    if (!mixes_directions_) return {line.cursorToX(begin), line.cursorToX(end)};
    CharacterBox box = character_box(line, begin);
    for (int at = begin + 1; at < end; ++at) {
        const CharacterBox next = character_box(line, at);
        if (box.is_empty())
            box = next;
        else if (!next.is_empty())
            box = {std::min(box.left, next.left), std::max(box.right, next.right)};
    }
    return box;
}

// Measures a block of left-to-right text at token boundaries only. In a block with right-to-left characters,
// measures each character.
void DocumentItem::measure_spans()
{
    if (!spans.empty() || layout.lineCount() == 0) return;
    for (int i = 0; i < layout.lineCount(); ++i) {
        const QTextLine line = layout.lineAt(i);
        const int end = line.textStart() + line.textLength();
        const QRectF seen = line.naturalTextRect();
        for (int at = line.textStart(); at < end;) {
            const uint64_t token = block.token_at(at);
            const int stop = std::clamp(block.end_of(token), at + 1, end);
            for (int part = at; part < stop;) {
                const int behind = mixes_directions_ ? part + 1 : stop;
                const CharacterBox box = box_of(line, part, behind);
                // Clip the spaces at the end of a line: their positions are beyond its text.
                const qreal left = std::max(box.left, seen.left()), right = std::min(box.right, seen.right());
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

} // namespace palimpsest::ui
