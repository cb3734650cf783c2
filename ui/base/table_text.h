// A table as text to take elsewhere, and the keys that copy it.
#pragma once

#include <QString>

class QAbstractItemModel;
class QTableView;

namespace palimpsest::ui {

// RFC 4180, with the columns' names first. Cells are those of RawRole where a model has it, else what is shown.
inline constexpr int RawRole = 0x0100; // Qt::UserRole: the number itself, in its own unit
QString csv_of(const QAbstractItemModel& model);

// Quiet and read-only, whole rows selected; the keys of "copy" put csv_of its model on the clipboard.
void make_plain_table(QTableView& view);

} // namespace palimpsest::ui
