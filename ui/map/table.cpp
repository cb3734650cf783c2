#include "ui/map/table.h"

#include "ui/base/place_text.h"
#include "ui/base/quantity.h"

#include <algorithm>

namespace palimpsest::ui {
namespace {

constexpr int tenths = 10;

bool same_sections(const std::vector<MapSection>& a, const std::vector<MapSection>& b)
{
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const MapSection& x, const MapSection& y) {
        return x.first == y.first && x.title == y.title;
    });
}

} // namespace

void RetentionTable::set_scene(const MapScene& scene)
{
    const bool same = scene.rows.all() == scene_.rows.all() && scene.map && scene_.map &&
                      same_sections(scene.marks.sections, scene_.marks.sections);
    if (!same) beginResetModel();
    scene_ = scene;
    divide();
    if (!same) return endResetModel();
    if (rowCount() == 0 || columnCount() == 0) return;
    Q_EMIT dataChanged(index(0, 0), index(rowCount() - 1, columnCount() - 1));
    Q_EMIT headerDataChanged(Qt::Horizontal, 0, columnCount() - 1);
}

void RetentionTable::set_columns(Columns columns)
{
    if (columns == columns_) return;
    beginResetModel();
    columns_ = columns;
    divide();
    endResetModel();
}

void RetentionTable::divide()
{
    edges_.clear();
    if (columns_ == Columns::Tenths) return;
    for (const MapSection& section : scene_.marks.sections)
        edges_.push_back(section.first);
}

StreamRange RetentionTable::tokens_of(int column) const
{
    const uint64_t length = scene_.window.length();
    const auto i = static_cast<size_t>(column);
    if (edges_.empty()) return {length * i / tenths, length * (i + 1) / tenths};
    const uint64_t first = std::min(edges_[i], length);
    return {first, std::clamp(i + 1 < edges_.size() ? edges_[i + 1] : length, first, length)};
}

MapCell RetentionTable::place_at(const QModelIndex& index) const
{
    return {scene_.rows.at(index.row()), tokens_of(index.column())};
}

int RetentionTable::rowCount(const QModelIndex& parent) const
{
    return parent.isValid() || !scene_.map ? 0 : scene_.rows.count();
}

int RetentionTable::columnCount(const QModelIndex& parent) const
{
    if (parent.isValid() || !scene_.map) return 0;
    return edges_.empty() ? tenths : static_cast<int>(edges_.size());
}

QVariant RetentionTable::data(const QModelIndex& index, int role) const
{
    if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
    if (role == Qt::TextAlignmentRole) return QVariant::fromValue(Qt::AlignRight | Qt::AlignVCenter);
    const MapCell place = place_at(index);
    if (role == TokenRole) return static_cast<qulonglong>(place.tokens.first);
    const bool is_text = role == Qt::DisplayRole || role == Qt::ToolTipRole || role == Qt::AccessibleTextRole;
    if (!is_text && role != ShareRole && role != KeptRole && role != PairsRole) return {};

    const CellCount count = count_of(*scene_.map, place);
    switch (role) {
    case ShareRole:
        return count.share();
    case KeptRole:
        return static_cast<qulonglong>(count.kept);
    case PairsRole:
        return static_cast<qulonglong>(count.pairs);
    case Qt::DisplayRole:
        if (count.pairs == 0) return tr("not read");
        return tr("%1 (%2)").arg(percentage(count.share()), count_text(count.kept));
    default:
        break;
    }
    if (count.pairs == 0) return tr("%1, %2: not read").arg(row_name(place.row), column_place(index.column()));
    return tr("%1, %2: %3 of %4 kept (%5)")
        .arg(row_name(place.row), column_place(index.column()), count_text(count.kept), count_text(count.pairs),
             percentage(count.share()));
}

QString RetentionTable::column_name(int column) const
{
    const StreamRange range = tokens_of(column);
    if (!edges_.empty()) {
        const QString& title = scene_.marks.sections[static_cast<size_t>(column)].title;
        const TextOutline* outline = scene_.marks.outline.get();
        return outline && range.first < range.last ? place_text(title, outline->pages_of(range)) : title;
    }
    if (range.first == range.last) return tr("no token");
    return tr("%1 to %2").arg(count_text(range.first), count_text(range.last - 1));
}

QString RetentionTable::column_place(int column) const
{
    const StreamRange range = tokens_of(column);
    const TextOutline* outline = scene_.marks.outline.get();
    const QString place =
        edges_.empty() && outline && range.first < range.last ? outline->place_name(range) : QString();
    return place.isEmpty() ? column_name(column) : tr("%1 · %2").arg(column_name(column), place);
}

QVariant RetentionTable::headerData(int section, Qt::Orientation orientation, int role) const
{
    if ((role != Qt::DisplayRole && role != Qt::ToolTipRole) || section < 0) return {};
    if (orientation == Qt::Vertical) return section < rowCount() ? row_name(scene_.rows.at(section)) : QVariant();
    if (section >= columnCount()) return {};
    return role == Qt::ToolTipRole ? column_place(section) : column_name(section);
}

QString RetentionTable::as_text() const
{
    QString text;
    for (int column = 0; column < columnCount(); ++column)
        text += QLatin1Char('\t') + column_place(column);
    for (int row = 0; row < rowCount(); ++row) {
        text += QLatin1Char('\n') + row_name(scene_.rows.at(row));
        for (int column = 0; column < columnCount(); ++column)
            text += QLatin1Char('\t') + index(row, column).data(Qt::DisplayRole).toString();
    }
    return text;
}

} // namespace palimpsest::ui
