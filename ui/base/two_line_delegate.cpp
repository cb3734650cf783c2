#include "ui/base/two_line_delegate.h"

#include <QApplication>
#include <QPainter>

#include "ui/base/line_text.h"
#include "ui/base/theme.h"

namespace palimpsest::ui {
namespace {

int margin(const QFontMetrics& metrics)
{
    return metrics.height() / 4;
}

struct Lines {
    QRect icon, title, detail;
};

Lines lines(const QStyleOptionViewItem& option)
{
    const QFontMetrics title(option.font), detail(detail_font(option.font));
    const int m = margin(title);
    QRect rest = option.rect.adjusted(m, m, -m, -m);
    Lines result;
    if (!option.icon.isNull()) {
        const int side = title.height();
        result.icon = QRect(rest.left(), rest.top(), side, side);
        rest.setLeft(rest.left() + side + m + m / 2);
    }
    result.title = QRect(rest.left(), rest.top(), rest.width(), title.height());
    result.detail = QRect(rest.left(), result.title.bottom() + 1, rest.width(), detail.height());
    for (QRect* rect : {&result.icon, &result.title, &result.detail})
        *rect = QStyle::visualRect(option.direction, option.rect, *rect);
    return result;
}

} // namespace

QFont detail_font(const QFont& font)
{
    QFont smaller = font;
    smaller.setBold(false);
    smaller.setPointSizeF(font.pointSizeF() * 0.88);
    return smaller;
}

void TwoLineDelegate::paint(QPainter* painter, const QStyleOptionViewItem& given, const QModelIndex& index) const
{
    QStyleOptionViewItem option = given;
    initStyleOption(&option, index);
    const Lines at = lines(option);
    const QStyle* style = option.widget ? option.widget->style() : QApplication::style();
    style->drawPrimitive(QStyle::PE_PanelItemViewItem, &option, painter, option.widget);
    const bool selected = option.state & QStyle::State_Selected;
    const QColor text = option.palette.color(selected ? QPalette::HighlightedText : QPalette::Text);
    painter->save();
    if (!at.icon.isNull())
        option.icon.paint(painter, at.icon, Qt::AlignCenter, selected ? QIcon::Selected : QIcon::Normal);
    painter->setFont(option.font);
    painter->setPen(text);
    draw_line_text(*painter, at.title, option.text, option.direction, option.textElideMode);
    painter->setFont(detail_font(option.font));
    if (!selected) painter->setPen(secondary_text(option.palette));
    draw_line_text(*painter, at.detail, index.data(detail_role_).toString(), option.direction,
                   option.textElideMode);
    painter->restore();
    if (option.state & QStyle::State_HasFocus) {
        QStyleOptionFocusRect focus;
        focus.QStyleOption::operator=(option);
        style->drawPrimitive(QStyle::PE_FrameFocusRect, &focus, painter, option.widget);
    }
}

QSize TwoLineDelegate::sizeHint(const QStyleOptionViewItem& option, const QModelIndex&) const
{
    const QFontMetrics title(option.font), detail(detail_font(option.font));
    return {title.averageCharWidth() * 12, title.height() + detail.height() + 1 + 2 * margin(title)};
}

void TwoLineDelegate::updateEditorGeometry(QWidget* editor, const QStyleOptionViewItem& given,
                                           const QModelIndex& index) const
{
    QStyleOptionViewItem option = given;
    initStyleOption(&option, index);
    const Lines at = lines(option);
    const int height = std::max(editor->sizeHint().height(), at.title.height());
    editor->setGeometry(at.title.left(), at.title.top(), at.title.width(), height);
}

} // namespace palimpsest::ui
