#include "ui/window/recent_menu.h"

#include <QDir>
#include <QFileInfo>

#include "ui/window/preferences.h"

namespace palimpsest::ui {

RecentMenu::RecentMenu(PreferenceStore& store, QWidget* parent) : QMenu(tr("Open &recent"), parent), store_(store)
{
    fill();
}

void RecentMenu::add(const QStringList& files)
{
    for (const QString& file : files)
        store_.add_recent_file(file);
    fill();
}

void RecentMenu::fill()
{
    clear();
    for (const QString& file : store_.recent_files()) {
        QAction* action = addAction(QFileInfo(file).fileName().replace(u'&', QStringLiteral("&&")));
        action->setStatusTip(tr("Read %1 in a new session").arg(QDir::toNativeSeparators(file)));
        action->setToolTip(file);
        connect(action, &QAction::triggered, this, [this, file] { Q_EMIT file_wanted(file); });
    }
    menuAction()->setEnabled(!isEmpty());
    if (isEmpty()) return;
    addSeparator();
    QAction* forget = addAction(tr("&Forget these"));
    forget->setStatusTip(tr("Forget which files were opened; what was read of them stays"));
    connect(forget, &QAction::triggered, this, [this] {
        store_.clear_recent_files();
        fill();
    });
}

} // namespace palimpsest::ui
