#include "ui/window/window_docks.h"

#include <QAction>
#include <QDockWidget>
#include <QMainWindow>
#include <algorithm>

#include "ui/base/icon.h"

namespace palimpsest::ui {
namespace {

constexpr int state_version = 1; // increment when the set of docks changes

} // namespace

WindowDocks::WindowDocks(QMainWindow* window, const WindowAreas& areas, QWidget* library)
    : QObject(window), window_(window)
{
    add("library", tr("Library"), "document", library, Qt::LeftDockWidgetArea);
    const auto right = [&](const WindowAreas::Make& make, const char* name, const QString& title) -> QDockWidget* {
        return make ? add(name, title, name, make(window_), Qt::RightDockWidgetArea) : nullptr;
    };
    right(areas.map, "map", tr("Retained tokens"));
    QDockWidget* memory = right(areas.memory, "memory", tr("Memory"));
    policy_ = right(areas.policy, "policy", tr("Policy"));
    // Two docks in one place leave more height for the map.
    if (memory && policy_) window_->tabifyDockWidget(memory, policy_);
    if (memory) memory->raise();
}

QDockWidget* WindowDocks::add(const char* name, const QString& title, const char* symbol, QWidget* inside,
                              Qt::DockWidgetArea where)
{
    auto* dock = new QDockWidget(title, window_);
    dock->setObjectName(QLatin1String(name)); // the key under which saveState() stores the dock
    dock->setAccessibleName(title);
    dock->setWidget(inside);
    dock->toggleViewAction()->setIcon(icon(symbol));
    dock->toggleViewAction()->setStatusTip(tr("Show or hide the area “%1”").arg(title));
    const int number = static_cast<int>(all_.size()) + 1;
    dock->toggleViewAction()->setShortcut(QKeySequence(QStringLiteral("Ctrl+%1").arg(number)));
    window_->addDockWidget(where, dock);
    window_->addAction(dock->toggleViewAction());
    all_.push_back(dock);
    return dock;
}

TourArea WindowDocks::tour_area(const char* name) const
{
    const auto found = std::ranges::find(all_, QLatin1String(name), &QDockWidget::objectName);
    if (found == all_.end()) return {};
    QDockWidget* dock = *found;
    return {.find = [dock] { return dock->visibleRegion().isEmpty() ? nullptr : dock; },
            .show =
                [dock] {
                    dock->show();
                    dock->raise();
                }};
}

void WindowDocks::arrange()
{
    reset();
    first_state_ = state();
}

void WindowDocks::reset()
{
    if (!first_state_.isEmpty()) restore(first_state_);
    for (QDockWidget* dock : all_)
        dock->show();
    const int character = window_->fontMetrics().averageCharWidth(), height = window_->height();
    QList<QDockWidget*> stack(all_.begin() + 1, all_.end());
    window_->resizeDocks({library()}, {character * 36}, Qt::Horizontal);
    if (stack.isEmpty()) return;
    window_->resizeDocks({stack.front()}, {character * 52}, Qt::Horizontal);
    QList<int> heights(stack.size(), height * 45 / 100);
    heights.front() = height * 55 / 100;
    window_->resizeDocks(stack, heights, Qt::Vertical);
}

QByteArray WindowDocks::state() const
{
    return window_->saveState(state_version);
}

void WindowDocks::restore(const QByteArray& state)
{
    window_->restoreState(state, state_version);
}

} // namespace palimpsest::ui
