// Every policy of the engine, in its order, and the search among them.
#pragma once

#include <QAbstractListModel>
#include <QSortFilterProxyModel>

#include "engine/policy/registry.h"

namespace palimpsest::ui {

// What the engine says of a policy, in the language of the window where that has it.
QString policy_text(const std::string& text);

class PolicyModel final : public QAbstractListModel {
    Q_OBJECT
public:
    enum Role { KeepsRole = Qt::UserRole + 1, SearchRole };

    using QAbstractListModel::QAbstractListModel;
    int rowCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
};

// Rows in which every word of the search occurs: in the name, the sentence, the paper, the signals, or a parameter.
class PolicySearch final : public QSortFilterProxyModel {
    Q_OBJECT
public:
    using QSortFilterProxyModel::QSortFilterProxyModel;
    void search(const QString& words);

protected:
    bool filterAcceptsRow(int row, const QModelIndex& parent) const override;

private:
    QStringList words_;
};

} // namespace palimpsest::ui
