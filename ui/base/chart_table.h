// The values of a chart as a table: one row per x, one column per line.
#pragma once

#include <QAbstractTableModel>

#include "ui/base/chart_line.h"

namespace palimpsest::ui {

class ChartTable final : public QAbstractTableModel {
    Q_OBJECT
public:
    ChartTable(ChartAxis x, ChartAxis y, std::vector<ChartLine> lines, QObject* parent = nullptr);

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

private:
    std::optional<double> number(const QModelIndex& index) const;

    ChartAxis x_, y_;
    std::vector<ChartLine> lines_;
    std::vector<double> places_;
};

} // namespace palimpsest::ui
