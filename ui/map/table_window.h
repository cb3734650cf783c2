// The map's table in a window of its own: what a screen reader, and whoever wants numbers, reads instead of
// colours.
#pragma once

#include <QDialog>

class QComboBox;
class QTableView;

namespace palimpsest::ui {

class RetentionTable;

class MapTableWindow : public QDialog {
    Q_OBJECT
public:
    // `table` must outlive it. Enter on a cell tells the first token of its column.
    MapTableWindow(RetentionTable& table, QWidget* parent);

    void sections_changed(); // of the table: whether there is a choice of columns

Q_SIGNALS:
    void token_activated(quint64 token);

private:
    void copy() const;

    RetentionTable& table_;
    QComboBox* columns_;
    QTableView* view_;
};

} // namespace palimpsest::ui
