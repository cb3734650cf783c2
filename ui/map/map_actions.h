// The actions of the map: its keys and its context menu.
#pragma once

#include <QObject>
#include <QPoint>

class QAction;
class QKeySequence;
class QWidget;

namespace palimpsest::ui {

class MapActions : public QObject {
    Q_OBJECT
public:
    explicit MapActions(QWidget* view); // adds the actions to `view`, which owns this object

    void show_menu(QPoint global, bool has_token); // has_token: "Go to this token" is enabled

Q_SIGNALS:
    void whole_wanted();    // show the whole stream
    void expand_wanted();   // expand all layers
    void collapse_wanted(); // collapse all layers
    void token_wanted();    // go to the token at the crosshair
    void table_wanted();
    void export_wanted();

private:
    QAction* add(const QString& text, const QKeySequence& key, void (MapActions::*wanted)());

    QWidget* view_;
    QAction *whole_, *expand_, *collapse_, *token_, *table_, *export_;
};

} // namespace palimpsest::ui
