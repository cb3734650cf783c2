// Finds and runs any action by a few letters of its name.
#pragma once

#include <QDialog>
#include <QPointer>

class QAction;
class QLineEdit;
class QStandardItemModel;
class QTreeView;

namespace palimpsest::ui {

class Actions;

class CommandPalette : public QDialog {
    Q_OBJECT
public:
    explicit CommandPalette(const Actions& actions, QWidget* parent);

    void begin(); // clears the field and opens over the parent

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;
    void paintEvent(QPaintEvent* event) override;

private:
    void fill(const QString& typed);
    void run(const QModelIndex& index);

    const Actions& actions_;
    QLineEdit* typed_;
    QStandardItemModel* model_;
    QTreeView* list_;
    QList<QPointer<QAction>> shown_; // by row
};

} // namespace palimpsest::ui
