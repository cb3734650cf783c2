// Exports a table model as CSV, and sets up table views that can copy it.
#pragma once

#include <QString>

class QAbstractItemModel;
class QTableView;

namespace palimpsest::ui {

// Role of the number that a cell displays as text, in the unit of the data. The value is Qt::UserRole.
inline constexpr int RawRole = 0x0100;
// Returns the table as CSV (RFC 4180), with the column names first. A cell is its RawRole value if the model has
// one, else the displayed text.
QString csv_of(const QAbstractItemModel& model);

// Makes the view read-only, with row selection and without a grid. The copy shortcut and the context menu copy the
// whole model as CSV.
void make_plain_table(QTableView& view);

} // namespace palimpsest::ui
