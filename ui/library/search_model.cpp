#include "ui/library/search_model.h"

#include <algorithm>

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
    const QString origin = found.document == 0 ? tr("said in %1").arg(found.session) : found.title;
    switch (role) {
    case Qt::DisplayRole:
        return found.match.snippet;
    case Qt::ToolTipRole:
    case OriginRole:
        return origin;
    case Qt::AccessibleTextRole:
        return tr("%1: %2").arg(origin, found.match.snippet);
    case FirstRole:
        return found.match.first;
    case CountRole:
        return found.match.count;
    default:
        return {};
    }
}

} // namespace palimpsest::ui
