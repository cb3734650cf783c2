#include "ui/map/frame_pacer.h"

#include <algorithm>

namespace palimpsest::ui {
namespace {

constexpr int milliseconds_between_frames = 33;

} // namespace

FramePacer::FramePacer(QObject* parent) : QObject(parent)
{
    later_.setSingleShot(true);
    later_.setTimerType(Qt::PreciseTimer);
    connect(&later_, &QTimer::timeout, this, [this] {
        since_rendered_.invalidate();
        Q_EMIT due();
    });
}

void FramePacer::invalidate()
{
    current_ = false;
    if (later_.isActive()) return;
    const qint64 waited = since_rendered_.isValid() ? since_rendered_.elapsed() : milliseconds_between_frames;
    later_.start(static_cast<int>(std::max<qint64>(0, milliseconds_between_frames - waited)));
}

void FramePacer::invalidate_at_once()
{
    later_.stop();
    since_rendered_.invalidate();
    current_ = false;
}

void FramePacer::rendered()
{
    current_ = true;
    ++frames_;
    later_.stop();
    since_rendered_.start();
}

} // namespace palimpsest::ui
