#include "ui/outline/row_heights.h"

#include <algorithm>

namespace palimpsest::ui {

void RowHeights::reset(int rows, const std::function<int(int row)>& estimate)
{
    rows_.assign(static_cast<size_t>(rows), {});
    for (int row = 0; row < rows; ++row)
        rows_[static_cast<size_t>(row)].height = std::max(1, estimate(row));
    tops_.assign(static_cast<size_t>(rows) + 1, 0);
    summed_ = 0;
}

void RowHeights::forget(int row, int estimate)
{
    rows_[static_cast<size_t>(row)] = {.height = std::max(1, estimate), .is_measured = false};
    summed_ = std::min(summed_, row);
}

void RowHeights::set(int row, int height)
{
    rows_[static_cast<size_t>(row)] = {.height = std::max(1, height), .is_measured = true};
    summed_ = std::min(summed_, row);
}

int RowHeights::top(int row) const
{
    sum();
    return tops_[static_cast<size_t>(row)];
}

int RowHeights::row_at(int y) const
{
    sum();
    const auto after = std::upper_bound(tops_.begin(), tops_.end() - 1, y);
    return std::max(0, static_cast<int>(after - tops_.begin()) - 1);
}

void RowHeights::sum() const
{
    for (; summed_ < rows(); ++summed_)
        tops_[static_cast<size_t>(summed_) + 1] = tops_[static_cast<size_t>(summed_)] + height(summed_);
}

} // namespace palimpsest::ui
