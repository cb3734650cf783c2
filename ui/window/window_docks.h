// The docks around the middle of the main window, and their arrangement.
#pragma once

#include <QObject>
#include <vector>

#include "ui/window/tour.h"
#include "ui/window/window_areas.h"

class QDockWidget;
class QMainWindow;

namespace palimpsest::ui {

class WindowDocks : public QObject {
    Q_OBJECT
public:
    // Adds the library and the areas as docks to `window`, which owns this object.
    WindowDocks(QMainWindow* window, const WindowAreas& areas, QWidget* library);

    const std::vector<QDockWidget*>& all() const { return all_; } // the library first
    QDockWidget* library() const { return all_.front(); }
    QDockWidget* policy() const { return policy_; } // null: the window has no such dock
    TourArea tour_area(const char* name) const;     // empty: there is no such dock

    // Sizes the docks for the current size of the window. reset() restores this arrangement.
    void arrange();
    void reset();
    QByteArray state() const;
    void restore(const QByteArray& state); // a state that was saved with other docks is ignored

private:
    QDockWidget* add(const char* name, const QString& title, const char* symbol, QWidget* inside,
                     Qt::DockWidgetArea where);

    QMainWindow* window_;
    std::vector<QDockWidget*> all_;
    QDockWidget* policy_ = nullptr;
    QByteArray first_state_;
};

} // namespace palimpsest::ui
