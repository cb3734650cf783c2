#include "ui/map/map_actions.h"

#include <QAction>
#include <QKeySequence>
#include <QMenu>
#include <QWidget>

namespace palimpsest::ui {

MapActions::MapActions(QWidget* view)
    : QObject(view), view_(view), whole_(add(tr("Show the &whole stream"), Qt::Key_0, &MapActions::whole_wanted)),
      expand_(add(tr("&Expand all layers"), Qt::Key_Asterisk, &MapActions::expand_wanted)),
      collapse_(add(tr("&Collapse all layers"), Qt::Key_Slash, &MapActions::collapse_wanted)),
      token_(add(tr("&Go to this token"), Qt::Key_Space, &MapActions::token_wanted)),
      table_(add(tr("Show as &table…"), Qt::Key_T, &MapActions::table_wanted)),
      export_(add(tr("E&xport…"), Qt::Key_E, &MapActions::export_wanted))
{
}

QAction* MapActions::add(const QString& text, const QKeySequence& key, void (MapActions::*wanted)())
{
    auto* const action = new QAction(text, view_);
    action->setShortcut(key);
    action->setShortcutContext(Qt::WidgetWithChildrenShortcut);
    connect(action, &QAction::triggered, this, wanted);
    view_->addAction(action);
    return action;
}

void MapActions::show_menu(QPoint global, bool has_token)
{
    QMenu menu(view_);
    token_->setEnabled(has_token);
    menu.addAction(token_);
    menu.addSeparator();
    menu.addActions({whole_, expand_, collapse_});
    menu.addSeparator();
    menu.addActions({table_, export_});
    menu.exec(global);
    token_->setEnabled(true);
}

} // namespace palimpsest::ui
