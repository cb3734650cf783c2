// Heights of the rows of a list: estimated, until a row is measured because it comes into view.
#pragma once

#include <functional>
#include <vector>

namespace palimpsest::ui {

class RowHeights {
public:
    // Forgets everything. `estimate`: height of a row, in pixels, at least 1; cheap.
    void reset(int rows, const std::function<int(int row)>& estimate);
    void forget(int row, int estimate); // its content has changed
    void set(int row, int height);      // as measured

    int rows() const { return static_cast<int>(rows_.size()); }
    bool is_measured(int row) const { return rows_[static_cast<size_t>(row)].is_measured; }
    int height(int row) const { return rows_[static_cast<size_t>(row)].height; }
    // O(1), after a change O(rows).
    int top(int row) const; // row == rows(): the height of all
    // The row at this distance from the top; the first or last one if there is none. REQUIRES: rows() > 0.
    int row_at(int y) const;

private:
    struct Row {
        int height = 1;
        bool is_measured = false;
    };
    void sum() const;

    std::vector<Row> rows_;
    mutable std::vector<int> tops_{0}; // [rows + 1]
    mutable int summed_ = 0;           // rows whose top is right
};

} // namespace palimpsest::ui
