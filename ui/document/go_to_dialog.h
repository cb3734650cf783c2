// Dialog to go to a chapter, by part of its title, or to a token, by its number.
#pragma once

#include <QDialog>
#include <cstdint>

#include "ui/document/text_outline.h"

class QLineEdit;
class QListView;
class QSortFilterProxyModel;

namespace palimpsest::ui {

class GoToDialog : public QDialog {
    Q_OBJECT
public:
    explicit GoToDialog(const TextOutline& outline, uint64_t here, QWidget* parent = nullptr);

Q_SIGNALS:
    void chosen(quint64 token);

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void filter(const QString& text);
    void choose();

    uint64_t tokens_;
    QLineEdit* line_;
    QListView* list_;
    QSortFilterProxyModel* shown_;
};

} // namespace palimpsest::ui
