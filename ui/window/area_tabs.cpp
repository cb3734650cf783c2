#include "ui/window/area_tabs.h"

#include <QTabBar>

#include "ui/base/icon.h"

namespace palimpsest::ui {

AreaTabs::AreaTabs(const WindowAreas& areas, QWidget* parent) : QTabWidget(parent)
{
    setAccessibleName(tr("Chat, document, outline and comparison"));
    tabBar()->setAccessibleName(accessibleName());
    setDocumentMode(true);
    add(areas.chat, tr("Chat"), "chat");
    add(areas.document, tr("Document"), "document");
    add(areas.outline, tr("Outline"), "outline");
    add(areas.compare, tr("Compare"), "compare");
}

void AreaTabs::add(const WindowAreas::Make& make, const QString& title, const char* symbol)
{
    if (make)
        addTab(make(this), icon(symbol), title);
    else
        setTabVisible(addTab(new QWidget(this), title), false);
}

TourArea AreaTabs::tour_area(Tab tab)
{
    if (!has(tab)) return {};
    return {.find = [this, tab] { return currentIndex() == static_cast<int>(tab) ? this : nullptr; },
            .show = [this, tab] { show_tab(tab); }};
}

} // namespace palimpsest::ui
