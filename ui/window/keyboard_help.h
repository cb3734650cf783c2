// Lists all shortcuts and what they do, generated from the actions.
#pragma once

#include <QDialog>

class QTreeWidget;

namespace palimpsest::ui {

class Actions;

class KeyboardHelp : public QDialog {
    Q_OBJECT
public:
    KeyboardHelp(const Actions& actions, QWidget* parent);

private:
    void filter(const QString& text);

    QTreeWidget* list_;
};

} // namespace palimpsest::ui
