#include "ui/outline/outline_delegate.h"

#include <QApplication>
#include <QPainter>
#include <QTextLayout>
#include <cmath>

#include "ui/base/line_text.h"
#include "ui/base/theme.h"
#include "ui/outline/outline_model.h"

namespace palimpsest::ui {
namespace {

constexpr int deepest_level = 6;
constexpr int longest_line = 90; // average characters: longer lines are hard to read

QFont title_font(const QFont& font)
{
    QFont heavy = font;
    heavy.setWeight(QFont::DemiBold);
    return heavy;
}

// Where the parts of a row are, for a layout from left to right.
struct RowPlaces {
    RowPlaces(const QStyleOptionViewItem& option, int level, bool has_note)
    {
        const QFontMetrics metrics(option.font), title_metrics(title_font(option.font));
        gap = metrics.height() / 3;
        const int space = metrics.height() / 2; // above and below
        const int bar_width = std::max(4, metrics.height() / 2);
        bar = QRect(option.rect.left() + gap, option.rect.top() + gap / 2, bar_width,
                    option.rect.height() - gap / 2 * 2 - 1);
        const int indent = metrics.height() * (std::clamp(level, 1, deepest_level) - 1);
        const int left = bar.right() + 1 + gap + indent;
        const int width = std::max(1, option.rect.right() + 1 - gap - left);
        title = QRect(left, option.rect.top() + space, width, title_metrics.height());
        note_width = std::min(width, metrics.averageCharWidth() * longest_line);
        note_top = title.bottom() + 1 + gap / 2;
        height_without_note = title.height() + 2 * space + 1; // 1: the line below
        note_gap = has_note ? gap / 2 : 0;
    }

    QRect bar, title;
    int gap = 0, note_width = 0, note_top = 0, note_gap = 0, height_without_note = 0;
};

QString note_of(const QModelIndex& index)
{
    return index.data(OutlineModel::NoteRole).toString();
}

int level_of(const QModelIndex& index)
{
    return index.data(OutlineModel::LevelRole).toInt();
}

// Returns the height of the text.
int lay_out(QTextLayout& layout, int width)
{
    layout.setTextOption(paragraph_option(layout.text()));
    qreal height = 0;
    layout.beginLayout();
    for (QTextLine line = layout.createLine(); line.isValid(); line = layout.createLine()) {
        line.setLineWidth(width);
        line.setPosition({0, height});
        height += line.height();
    }
    layout.endLayout();
    return static_cast<int>(std::ceil(height));
}

} // namespace

QSize OutlineDelegate::sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const
{
    const QString note = note_of(index);
    const RowPlaces at(option, level_of(index), !note.isEmpty());
    int height = at.height_without_note + at.note_gap;
    if (!note.isEmpty()) {
        QTextLayout layout(note, option.font);
        height += lay_out(layout, at.note_width);
        ++layouts_;
    }
    return {option.rect.width(), height};
}

int OutlineDelegate::estimated_height(const QStyleOptionViewItem& option, const QModelIndex& index) const
{
    const auto characters = static_cast<int>(note_of(index).size());
    const RowPlaces at(option, level_of(index), characters > 0);
    if (characters == 0) return at.height_without_note;
    const QFontMetrics metrics(option.font);
    const int lines = 1 + characters * metrics.averageCharWidth() / at.note_width;
    return at.height_without_note + at.note_gap + lines * metrics.lineSpacing();
}

void OutlineDelegate::paint(QPainter* painter, const QStyleOptionViewItem& given, const QModelIndex& index) const
{
    QStyleOptionViewItem option = given;
    initStyleOption(&option, index);
    const QStyle* style = option.widget ? option.widget->style() : QApplication::style();
    style->drawPrimitive(QStyle::PE_PanelItemViewItem, &option, painter, option.widget);
    const bool is_selected = option.state & QStyle::State_Selected;
    const QColor text = option.palette.color(is_selected ? QPalette::HighlightedText : QPalette::Text);
    const QColor quiet = is_selected ? text : secondary_text(option.palette);
    const QString note = note_of(index);
    const RowPlaces at(option, level_of(index), !note.isEmpty());
    const auto mirrored = [&](const QRect& rect) {
        return QStyle::visualRect(option.direction, option.rect, rect);
    };
    painter->save();
    painter->setClipRect(option.rect);

    const QVariant held = index.data(OutlineModel::HeldRole);
    const QRect bar = mirrored(at.bar);
    if (held.isValid()) painter->fillRect(bar, shades_.of(held.toDouble()).background);
    painter->setPen(separator(option.palette));
    painter->drawRect(bar.adjusted(0, 0, -1, -1));
    painter->drawLine(option.rect.bottomLeft(), option.rect.bottomRight());

    const QString state = index.data(OutlineModel::StateRole).toString();
    const int state_width = state.isEmpty() ? 0 : QFontMetrics(option.font).horizontalAdvance(state);
    painter->setFont(option.font);
    painter->setPen(quiet);
    const QRect title = at.title;
    painter->drawText(mirrored(QRect(title.right() + 1 - state_width, title.top(), state_width, title.height())),
                      Qt::AlignVCenter | Qt::AlignLeading | Qt::TextSingleLine, state);
    const int title_width = std::max(0, title.width() - (state_width > 0 ? state_width + at.gap : 0));
    painter->setFont(title_font(option.font));
    painter->setPen(text);
    draw_line_text(*painter, mirrored(QRect(title.left(), title.top(), title_width, title.height())), option.text,
                   option.direction);
    if (!note.isEmpty()) {
        QTextLayout layout(note, option.font);
        const int height = lay_out(layout, at.note_width);
        ++layouts_;
        painter->setPen(text);
        layout.draw(painter, mirrored(QRect(title.left(), at.note_top, at.note_width, height)).topLeft());
    }
    painter->restore();
    if (option.state & QStyle::State_HasFocus) {
        QStyleOptionFocusRect focus;
        focus.QStyleOption::operator=(option);
        style->drawPrimitive(QStyle::PE_FrameFocusRect, &focus, painter, option.widget);
    }
}

} // namespace palimpsest::ui
