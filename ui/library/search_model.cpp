#include "ui/library/search_model.h"

#include <algorithm>

#include "ui/base/place_text.h"

namespace palimpsest::ui {

void SearchModel::clear()
{
    if (hits_.empty()) return;
    beginResetModel();
    hits_.clear();
    endResetModel();
}

void SearchModel::add(const std::vector<SearchHit>& hits)
{
    if (hits.empty()) return;
    const int first = rowCount();
    beginInsertRows({}, first, first + static_cast<int>(hits.size()) - 1);
    hits_.insert(hits_.end(), hits.begin(), hits.end());
    endInsertRows();
}

int SearchModel::rowCount(const QModelIndex& parent) const
{
    return parent.isValid() ? 0 : static_cast<int>(hits_.size());
}

QVariant SearchModel::data(const QModelIndex& index, int role) const
{
    if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
    const SearchHit& found = hit(index);
    const QString title = found.document == 0 ? tr("said in %1").arg(found.session) : found.title;
    const QString place = place_text(found.section, found.pages);
    const QString origin = place.isEmpty() ? title : tr("%1 · %2").arg(title, place);
    switch (role) {
    case Qt::DisplayRole:
        return found.snippet.text;
    case Qt::ToolTipRole:
        return origin;
    case Qt::AccessibleTextRole:
        return tr("%1: %2").arg(origin, found.snippet.text);
    case TitleRole:
        return title;
    case SectionRole:
        return place;
    case SnippetRole:
        return QVariant::fromValue(found.snippet);
    default:
        return {};
    }
}

} // namespace palimpsest::ui
