#include "ui/document/drag_scroll.h"

#include <algorithm>

namespace palimpsest::ui {

DragScroll::DragScroll(QObject* parent) : QObject(parent)
{
    timer_.setInterval(30);
    connect(&timer_, &QTimer::timeout, this, &DragScroll::scroll);
}

void DragScroll::begin(QPoint at)
{
    active_ = true;
    at_ = at;
}

bool DragScroll::move_to(QPoint at, int viewport_height)
{
    at_ = at;
    height_ = viewport_height;
    const bool outside = at.y() < 0 || at.y() >= viewport_height;
    if (outside != timer_.isActive()) outside ? timer_.start() : timer_.stop();
    return !outside;
}

void DragScroll::end()
{
    active_ = false;
    timer_.stop();
}

void DragScroll::scroll()
{
    const int above = std::min(0, at_.y()), below = std::max(0, at_.y() - height_);
    const qreal y = std::clamp<qreal>(at_.y(), 1, std::max(1, height_ - 2));
    Q_EMIT scrolled((above + below) / 2.0, QPointF(at_.x(), y));
}

} // namespace palimpsest::ui
