#include "ui/library/hit_delegate.h"

#include <QApplication>
#include <QPainter>
#include <QTextLayout>
#include <algorithm>

#include "ui/base/line_text.h"
#include "ui/base/theme.h"
#include "ui/base/two_line_delegate.h"
#include "ui/library/search_model.h"

namespace palimpsest::ui {
namespace {

constexpr int snippet_lines = 3;

struct Margins {
    explicit Margins(const QFontMetrics& metrics) : side(metrics.height() / 4), above(metrics.height() / 3) {}
    int side, above; // above and below
};

// The title and the section, as much of each as there is room for: at least a third of the width for the title.
QString origin_text(const QModelIndex& index, const QFontMetrics& metrics, int width)
{
    const QString title = index.data(SearchModel::TitleRole).toString();
    const QString section = index.data(SearchModel::SectionRole).toString();
    if (section.isEmpty()) return metrics.elidedText(title, Qt::ElideRight, width);
    const QString between = QStringLiteral(" · ");
    const int room = width - metrics.horizontalAdvance(between);
    const int of_section = std::min(metrics.horizontalAdvance(section), room * 2 / 3);
    const QString first = metrics.elidedText(title, Qt::ElideRight, room - of_section);
    const QString second = metrics.elidedText(section, Qt::ElideRight, room - metrics.horizontalAdvance(first));
    const QString direction = title.isRightToLeft() ? QString(QChar(0x200F)) : QString();
    return direction + isolated(first) + between + isolated(second);
}

// For the first `length` characters of the snippet.
QList<QTextLayout::FormatRange> formats_of(const Snippet& snippet, qsizetype length)
{
    QTextCharFormat found;
    found.setFontWeight(QFont::Bold);
    found.setFontUnderline(true);
    QList<QTextLayout::FormatRange> formats;
    for (const Snippet::Mark& mark : snippet.marks)
        if (mark.first < length)
            formats.append({mark.first, std::min(mark.count, static_cast<int>(length) - mark.first), found});
    return formats;
}

// Lays out as many lines as fit; returns the number of characters in them.
int lay_out(QTextLayout& layout, int width)
{
    int end = 0;
    qreal y = 0;
    layout.beginLayout();
    for (int n = 0; n < snippet_lines; ++n) {
        QTextLine line = layout.createLine();
        if (!line.isValid()) break;
        line.setLineWidth(width);
        line.setPosition({0, y});
        y += line.height();
        end = line.textStart() + line.textLength();
    }
    layout.endLayout();
    return end;
}

void draw_snippet(QPainter& painter, const QRect& rect, const Snippet& snippet, const QFont& font)
{
    QString text = snippet.text;
    QTextLayout layout(text, font);
    layout.setTextOption(paragraph_option(snippet.text));
    layout.setFormats(formats_of(snippet, text.size()));
    for (int fitting = lay_out(layout, rect.width()); fitting < text.size() && fitting > 1;
         fitting = lay_out(layout, rect.width())) {
        text =
            leading_characters(text, fitting - 1) + u'…'; // shorter each time, until its mark of omission fits, too
        layout.setText(text);
        layout.setFormats(formats_of(snippet, text.size() - 1));
    }
    painter.save();
    painter.setClipRect(rect);
    layout.draw(&painter, rect.topLeft());
    painter.restore();
}

} // namespace

void HitDelegate::paint(QPainter* painter, const QStyleOptionViewItem& given, const QModelIndex& index) const
{
    QStyleOptionViewItem option = given;
    initStyleOption(&option, index);
    const QStyle* style = option.widget ? option.widget->style() : QApplication::style();
    style->drawPrimitive(QStyle::PE_PanelItemViewItem, &option, painter, option.widget);
    const QFont small = detail_font(option.font);
    const Margins margins{QFontMetrics(option.font)};
    QRect rest = option.rect.adjusted(margins.side, margins.above, -margins.side, -margins.above);
    const bool selected = option.state & QStyle::State_Selected;
    const QColor text = option.palette.color(selected ? QPalette::HighlightedText : QPalette::Text);
    painter->save();
    painter->setPen(separator(option.palette));
    painter->drawLine(option.rect.bottomLeft(), option.rect.bottomRight());
    painter->setFont(small);
    painter->setPen(selected ? text : secondary_text(option.palette));
    const QRect origin(rest.topLeft(), QSize(rest.width(), QFontMetrics(small).height()));
    draw_line_text(*painter, origin, origin_text(index, QFontMetrics(small), origin.width()), option.direction);
    rest.setTop(origin.bottom() + 1);
    painter->setPen(text);
    draw_snippet(*painter, rest, index.data(SearchModel::SnippetRole).value<Snippet>(), option.font);
    painter->restore();
    if (option.state & QStyle::State_HasFocus) {
        QStyleOptionFocusRect focus;
        focus.QStyleOption::operator=(option);
        style->drawPrimitive(QStyle::PE_FrameFocusRect, &focus, painter, option.widget);
    }
}

QSize HitDelegate::sizeHint(const QStyleOptionViewItem& option, const QModelIndex&) const
{
    const QFontMetrics text(option.font), origin(detail_font(option.font));
    return {text.averageCharWidth() * 12,
            origin.height() + 1 + snippet_lines * text.height() + 2 * Margins(text).above};
}

} // namespace palimpsest::ui
