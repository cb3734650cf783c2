#include "ui/window/area_cycle.h"

#include <QApplication>
#include <QDockWidget>
#include <QWidget>

namespace palimpsest::ui {
namespace {

bool takes_focus(const QWidget& widget)
{
    return (widget.focusPolicy() & Qt::TabFocus) && widget.isVisible() && widget.isEnabled();
}

QWidget* first_within(QWidget* area)
{
    if (takes_focus(*area)) return area;
    // Looks for the first widget of the area in tab order.
    for (QWidget* next = area->nextInFocusChain(); next && next != area; next = next->nextInFocusChain())
        if (area->isAncestorOf(next) && takes_focus(*next)) return next;
    return nullptr;
}

} // namespace

AreaCycle::AreaCycle(QObject* parent) : QObject(parent)
{
    connect(qApp, &QApplication::focusChanged, this, [this](QWidget*, QWidget* now) { note_focus(now); });
}

void AreaCycle::add(QWidget* area)
{
    areas_.push_back(area);
}

void AreaCycle::note_focus(QWidget* now)
{
    for (const auto& area : areas_)
        if (now && area && (area == now || area->isAncestorOf(now))) last_[area] = now;
}

void AreaCycle::focus(QWidget* area)
{
    if (auto* dock = qobject_cast<QDockWidget*>(area)) dock->raise(); // brings a tabbed dock to the front
    QWidget* last = last_.value(area);
    QWidget* to = last && takes_focus(*last) && area->isAncestorOf(last) ? last : first_within(area);
    if (to) to->setFocus(Qt::ShortcutFocusReason);
}

void AreaCycle::go(int direction)
{
    const int count = static_cast<int>(areas_.size());
    QWidget* now = QApplication::focusWidget();
    int at = direction > 0 ? -1 : 0;
    for (int i = 0; i < count; ++i)
        if (const auto& area = areas_[static_cast<size_t>(i)];
            now && area && (area == now || area->isAncestorOf(now)))
            at = i;
    for (int step = 1; step <= count; ++step) {
        const int next = ((at + direction * step) % count + count) % count;
        QWidget* area = areas_[static_cast<size_t>(next)];
        if (area && area->isVisible() && first_within(area)) return focus(area);
    }
}

} // namespace palimpsest::ui
