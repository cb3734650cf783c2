#include "ui/base/chart_table.h"

#include <algorithm>

#include "ui/base/table_text.h"

namespace palimpsest::ui {

ChartTable::ChartTable(ChartAxis x, ChartAxis y, std::vector<ChartLine> lines, QObject* parent)
    : QAbstractTableModel(parent), x_(std::move(x)), y_(std::move(y)), lines_(std::move(lines))
{
    for (const ChartLine& line : lines_)
        for (const QPointF& p : line.points)
            places_.push_back(p.x());
    std::sort(places_.begin(), places_.end());
    places_.erase(std::unique(places_.begin(), places_.end()), places_.end());
}

int ChartTable::rowCount(const QModelIndex& parent) const
{
    return parent.isValid() ? 0 : static_cast<int>(places_.size());
}

int ChartTable::columnCount(const QModelIndex& parent) const
{
    return parent.isValid() ? 0 : static_cast<int>(lines_.size()) + 1;
}

std::optional<double> ChartTable::number(const QModelIndex& index) const
{
    const double place = places_[static_cast<size_t>(index.row())];
    if (index.column() == 0) return place;
    const auto& points = lines_[static_cast<size_t>(index.column()) - 1].points;
    const auto found =
        std::lower_bound(points.begin(), points.end(), place, [](const QPointF& p, double x) { return p.x() < x; });
    if (found == points.end() || found->x() != place) return {};
    return found->y();
}

QVariant ChartTable::data(const QModelIndex& index, int role) const
{
    if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
    if (role == Qt::TextAlignmentRole) return static_cast<int>(Qt::AlignRight | Qt::AlignVCenter);
    if (role != Qt::DisplayRole && role != RawRole) return {};
    const auto value = number(index);
    if (!value) return {};
    if (role == RawRole) return *value;
    return (index.column() == 0 ? x_ : y_).text(*value);
}

QVariant ChartTable::headerData(int section, Qt::Orientation orientation, int role) const
{
    if (orientation != Qt::Horizontal || role != Qt::DisplayRole) return {};
    return section == 0 ? x_.title : lines_[static_cast<size_t>(section) - 1].name;
}

} // namespace palimpsest::ui
