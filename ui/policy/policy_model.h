// List model of all policies of the engine, in its order, and a search filter on it.
#pragma once

#include <QAbstractListModel>
#include <QSortFilterProxyModel>

#include "engine/policy/named/registry.h"

namespace palimpsest::ui {

class PolicyModel final : public QAbstractListModel {
    Q_OBJECT
public:
    enum Role { KeepsRole = Qt::UserRole + 1, SearchRole };

    using QAbstractListModel::QAbstractListModel;
    int rowCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
};

// Accepts rows that contain every word of the search in the name, description, paper, signals or a parameter key.
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
