#include "ui/chat/cursor_blink.h"

namespace palimpsest::ui {
namespace {

constexpr int interval_ms = 530;

} // namespace

CursorBlink::CursorBlink(bool reduced_motion, QObject* parent) : QObject(parent), reduced_motion_(reduced_motion)
{
    timer_.setInterval(interval_ms);
    connect(&timer_, &QTimer::timeout, this, [this] {
        lit_ = !lit_;
        Q_EMIT changed();
    });
}

void CursorBlink::start()
{
    lit_ = runs_ = true;
    if (!reduced_motion_) timer_.start();
}

void CursorBlink::stop()
{
    runs_ = false;
    timer_.stop();
}

void CursorBlink::set_reduced_motion(bool reduced)
{
    reduced_motion_ = reduced;
    lit_ = true;
    if (reduced)
        timer_.stop();
    else if (runs_)
        timer_.start();
    Q_EMIT changed();
}

} // namespace palimpsest::ui
