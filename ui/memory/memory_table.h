// A session's telemetry as a table with two columns, name and value.
#pragma once

#include <QAbstractTableModel>
#include <optional>

#include "engine/session/telemetry.h"

namespace palimpsest::ui {

class MemoryTable final : public QAbstractTableModel {
    Q_OBJECT
public:
    enum Row { TokensRead, Cache, FullCache, Share, WorkingMemory, Place, Slots, Evicted, Speed, RowCount };

    explicit MemoryTable(QObject* parent = nullptr);

    // `device`: the backend's name, such as "cuda:0". Until the first call, the table has no rows.
    void show(const engine::Telemetry& telemetry, double tokens_per_second, const QString& device);
    void clear();

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

private:
    QString name(int row) const;
    QString value(int row) const;
    QVariant raw(int row) const;

    std::optional<engine::Telemetry> telemetry_;
    double tokens_per_second_ = 0;
    QString device_;
};

} // namespace palimpsest::ui
