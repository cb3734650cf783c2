#include "ui/policy/policy_model.h"

#include <algorithm>

#include "ui/base/wording.h"

namespace palimpsest::ui {
namespace {

QString search_text(const engine::PolicyInfo& info)
{
    QString text = QString::fromStdString(info.name) + QLatin1Char('\n') + shown(info.keeps) + QLatin1Char('\n') +
                   shown(info.signals) + QLatin1Char('\n') + shown(info.paper);
    for (const engine::ParameterInfo& parameter : info.parameters)
        text += QLatin1Char('\n') + QString::fromStdString(parameter.key);
    return text;
}

} // namespace

int PolicyModel::rowCount(const QModelIndex& parent) const
{
    return parent.isValid() ? 0 : static_cast<int>(engine::policies().size());
}

QVariant PolicyModel::data(const QModelIndex& index, int role) const
{
    if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
    const engine::PolicyInfo& info = engine::policies()[static_cast<size_t>(index.row())];
    const QString name = QString::fromStdString(info.name);
    switch (role) {
    case Qt::DisplayRole:
        return name;
    case KeepsRole:
        return shown(info.keeps);
    case SearchRole:
        return search_text(info);
    case Qt::AccessibleTextRole:
        return tr("%1: %2").arg(name, shown(info.keeps));
    default:
        return {};
    }
}

void PolicySearch::search(const QString& words)
{
    words_ = words.split(QLatin1Char(' '), Qt::SkipEmptyParts);
    invalidateFilter();
}

bool PolicySearch::filterAcceptsRow(int row, const QModelIndex& parent) const
{
    const QString text = sourceModel()->index(row, 0, parent).data(PolicyModel::SearchRole).toString();
    return std::all_of(words_.begin(), words_.end(),
                       [&](const QString& word) { return text.contains(word, Qt::CaseInsensitive); });
}

} // namespace palimpsest::ui
