// A window with the map as a table, for screen readers and for readers who want numbers instead of colours.
#pragma once

#include <QDialog>

#include "ui/map/table.h"

class QComboBox;
class QTableView;

namespace palimpsest::ui {

class MapTableWindow : public QDialog {
    Q_OBJECT
public:
    explicit MapTableWindow(QWidget* parent);

    void set_scene(const MapScene& scene);

Q_SIGNALS:
    void token_activated(quint64 token); // the first token of the activated column

private:
    void copy() const;

    RetentionTable table_;
    QComboBox* columns_;
    QTableView* view_;
};

} // namespace palimpsest::ui
