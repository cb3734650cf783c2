// The tabs in the middle of the main window.
#pragma once

#include <QTabWidget>

#include "ui/window/tour.h"
#include "ui/window/window_areas.h"

namespace palimpsest::ui {

class AreaTabs : public QTabWidget {
    Q_OBJECT
public:
    AreaTabs(const WindowAreas& areas, QWidget* parent);

    bool has(Tab tab) const { return isTabVisible(static_cast<int>(tab)); }
    void show_tab(Tab tab) { setCurrentIndex(static_cast<int>(tab)); }
    TourArea tour_area(Tab tab); // empty: there is no such tab

private:
    void add(const WindowAreas::Make& make, const QString& title, const char* symbol);
};

} // namespace palimpsest::ui
