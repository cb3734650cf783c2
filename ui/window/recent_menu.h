// The menu of files that were opened last.
#pragma once

#include <QMenu>

namespace palimpsest::ui {

class PreferenceStore;

class RecentMenu : public QMenu {
    Q_OBJECT
public:
    RecentMenu(PreferenceStore& store, QWidget* parent); // `store` must outlive the menu

    void add(const QStringList& files);

Q_SIGNALS:
    void file_wanted(const QString& file);

private:
    void fill();

    PreferenceStore& store_;
};

} // namespace palimpsest::ui
