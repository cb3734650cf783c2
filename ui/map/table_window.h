// A window with the map as a table, for screen readers and for readers who want numbers instead of colours.
#pragma once

#include <QDialog>

class QComboBox;
class QTableView;

namespace palimpsest::ui {

class RetentionTable;

class MapTableWindow : public QDialog {
    Q_OBJECT
public:
    // `table` must outlive this. Activating a cell emits token_activated with the first token of its column.
    MapTableWindow(RetentionTable& table, QWidget* parent);

    void sections_changed(); // call when the table's sections have changed: updates the choice of columns

Q_SIGNALS:
    void token_activated(quint64 token);

private:
    void copy() const;

    RetentionTable& table_;
    QComboBox* columns_;
    QTableView* view_;
};

} // namespace palimpsest::ui
