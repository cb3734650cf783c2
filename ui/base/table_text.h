// Exports a table model as CSV, and sets up table views that can copy it.
#pragma once

#include <QString>

class QAbstractItemModel;
class QTableView;

namespace palimpsest::ui {

// CSV as in RFC 4180, with the column names first. A cell is its RawRole value if the model has one, else the
// displayed text.
inline constexpr int RawRole = 0x0100; // Qt::UserRole: the number itself, in its own unit
QString csv_of(const QAbstractItemModel& model);

// Makes the view read-only with row selection and no grid; the copy shortcut puts csv_of() its model on the
// clipboard.
void make_plain_table(QTableView& view);

} // namespace palimpsest::ui
