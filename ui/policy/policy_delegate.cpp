#include "ui/policy/policy_delegate.h"

#include <QApplication>
#include <QListView>
#include <QPainter>

#include "ui/base/theme.h"
#include "ui/policy/policy_model.h"

namespace palimpsest::ui {
namespace {

constexpr int text_flags = Qt::AlignLeft | Qt::AlignTop | Qt::TextWordWrap;

int margin_of(const QFontMetrics& metrics)
{
    return metrics.height() / 3;
}

} // namespace

void PolicyDelegate::paint(QPainter* painter, const QStyleOptionViewItem& given, const QModelIndex& index) const
{
    QStyleOptionViewItem option = given;
    initStyleOption(&option, index);
    option.text.clear();
    const QStyle* style = option.widget ? option.widget->style() : QApplication::style();
    style->drawControl(QStyle::CE_ItemViewItem, &option, painter, option.widget);

    const bool selected = option.state.testFlag(QStyle::State_Selected);
    const int margin = margin_of(option.fontMetrics);
    QRect place = option.rect.adjusted(margin, margin, -margin, -margin);
    QFont bold = option.font;
    bold.setBold(true);
    painter->save();
    painter->setFont(bold);
    painter->setPen(option.palette.color(selected ? QPalette::HighlightedText : QPalette::Text));
    painter->drawText(place, text_flags, index.data().toString());
    painter->setFont(option.font);
    if (!selected) painter->setPen(secondary_text(option.palette));
    place.setTop(place.top() + QFontMetrics(bold).height());
    painter->drawText(place, text_flags, index.data(PolicyModel::KeepsRole).toString());
    painter->restore();
}

QSize PolicyDelegate::sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const
{
    const auto* view = qobject_cast<const QListView*>(option.widget);
    const int wide = view ? view->viewport()->width() : option.rect.width();
    const int margin = margin_of(option.fontMetrics);
    const QRect room(0, 0, std::max(1, wide - 2 * margin), 1 << 16);
    const QString sentence = index.data(PolicyModel::KeepsRole).toString();
    const int text = option.fontMetrics.boundingRect(room, text_flags, sentence).height();
    return {wide, option.fontMetrics.height() + text + 2 * margin};
}

} // namespace palimpsest::ui
