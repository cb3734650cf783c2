#include "ui/memory/memory_table.h"

#include "ui/base/quantity.h"
#include "ui/base/table_text.h"

namespace palimpsest::ui {
namespace {

double share_of(double part, double whole)
{
    return whole > 0 ? part / whole : 0;
}

} // namespace

MemoryTable::MemoryTable(QObject* parent) : QAbstractTableModel(parent) {}

void MemoryTable::show(const engine::Telemetry& telemetry, double tokens_per_second, const QString& device)
{
    const bool first = !telemetry_;
    if (first) beginInsertRows({}, 0, RowCount - 1);
    telemetry_ = telemetry;
    tokens_per_second_ = tokens_per_second;
    device_ = device;
    if (first)
        endInsertRows();
    else
        Q_EMIT dataChanged(index(0, 1), index(RowCount - 1, 1));
}

void MemoryTable::clear()
{
    if (!telemetry_) return;
    beginRemoveRows({}, 0, RowCount - 1);
    telemetry_.reset();
    endRemoveRows();
}

int MemoryTable::rowCount(const QModelIndex& parent) const
{
    return parent.isValid() || !telemetry_ ? 0 : RowCount;
}

int MemoryTable::columnCount(const QModelIndex& parent) const
{
    return parent.isValid() ? 0 : 2;
}

QString MemoryTable::name(int row) const
{
    switch (row) {
    case TokensRead:
        return tr("Tokens read");
    case Cache:
        return tr("Cache of this session");
    case FullCache:
        return tr("A full cache would take");
    case Share:
        return tr("Share of a full cache");
    case WorkingMemory:
        return tr("Working memory");
    case Place:
        return tr("Lies in");
    case Slots:
        return tr("Slots used");
    case Evicted:
        return tr("Slots freed so far");
    case Speed:
        return tr("Speed");
    default:
        return {};
    }
}

QString MemoryTable::value(int row) const
{
    const engine::Telemetry& t = *telemetry_;
    const auto used = static_cast<uint64_t>(t.slots_used), capacity = static_cast<uint64_t>(t.slots_capacity);
    switch (row) {
    case TokensRead:
        return count_text(t.tokens_seen);
    case Cache:
        return bytes_text(t.cache_bytes);
    case FullCache:
        return bytes_text(t.full_cache_bytes);
    case Share:
        return share_text(share_of(static_cast<double>(t.cache_bytes), static_cast<double>(t.full_cache_bytes)));
    case WorkingMemory:
        return bytes_text(t.scratch_bytes);
    case Place:
        return device_.startsWith(QLatin1String("cuda")) ? tr("memory of %1").arg(device_) : tr("main memory");
    case Slots:
        return tr("%1 of %2 (%3)")
            .arg(count_text(used), count_text(capacity),
                 share_text(share_of(static_cast<double>(used), static_cast<double>(capacity))));
    case Evicted:
        return count_text(t.evicted);
    case Speed:
        return tokens_per_second_ > 0 ? speed_text(tokens_per_second_) : QStringLiteral("–");
    default:
        return {};
    }
}

QVariant MemoryTable::raw(int row) const
{
    const engine::Telemetry& t = *telemetry_;
    switch (row) {
    case TokensRead:
        return static_cast<qulonglong>(t.tokens_seen);
    case Cache:
        return static_cast<qulonglong>(t.cache_bytes);
    case FullCache:
        return static_cast<qulonglong>(t.full_cache_bytes);
    case Share:
        return share_of(static_cast<double>(t.cache_bytes), static_cast<double>(t.full_cache_bytes));
    case WorkingMemory:
        return static_cast<qulonglong>(t.scratch_bytes);
    case Place:
        return device_;
    case Slots:
        return static_cast<qlonglong>(t.slots_used);
    case Evicted:
        return static_cast<qulonglong>(t.evicted);
    case Speed:
        return tokens_per_second_;
    default:
        return {};
    }
}

QVariant MemoryTable::data(const QModelIndex& index, int role) const
{
    if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
    if (index.column() == 0) return role == Qt::DisplayRole ? name(index.row()) : QVariant();
    if (role == Qt::TextAlignmentRole) return static_cast<int>(Qt::AlignRight | Qt::AlignVCenter);
    if (role == RawRole) return raw(index.row());
    if (role == Qt::DisplayRole) return value(index.row());
    if (role == Qt::AccessibleTextRole) return tr("%1: %2").arg(name(index.row()), value(index.row()));
    return {};
}

QVariant MemoryTable::headerData(int section, Qt::Orientation orientation, int role) const
{
    if (orientation != Qt::Horizontal || role != Qt::DisplayRole) return {};
    return section == 0 ? tr("Quantity") : tr("Value");
}

} // namespace palimpsest::ui
