// The results of a comparison, one row per policy. show() replaces them.
#pragma once

#include <QAbstractTableModel>

#include "ui/compare/compare_run.h"

namespace palimpsest::ui {

// Display name of a contender, such as "treekv · 2,048".
QString contender_name(const CompareResult& result);

class CompareTable final : public QAbstractTableModel {
    Q_OBJECT
public:
    enum Column {
        Policy,
        Budget,
        Perplexity,
        Overlap,
        Speed,
        Cache,
        FullCache,
        MedianAge,
        TokensRead,
        ColumnCount
    };

    using QAbstractTableModel::QAbstractTableModel;
    void show(std::shared_ptr<const CompareState> state); // null: empty table

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

private:
    static QVariant raw(const CompareResult& result, int column);
    static QString text(const CompareResult& result, int column);

    std::shared_ptr<const CompareState> state_;
};

} // namespace palimpsest::ui
