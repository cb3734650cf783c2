#include "ui/document/range_flash.h"

#include <algorithm>

namespace palimpsest::ui {
namespace {

constexpr int least_fading_ms = 900;
constexpr int shown_ms = 2500;

} // namespace

RangeFlash::RangeFlash(QObject* parent) : QObject(parent)
{
    connect(&fade_out_, &QVariantAnimation::valueChanged, this, &RangeFlash::changed);
    end_.setSingleShot(true);
    connect(&end_, &QTimer::timeout, this, [this] {
        range_.reset();
        Q_EMIT changed();
    });
}

void RangeFlash::start(StreamRange range, int animation_ms)
{
    range_ = range;
    fade_out_.stop();
    if (animation_ms > 0) {
        fade_out_.setStartValue(1.0);
        fade_out_.setEndValue(0.0);
        fade_out_.setDuration(std::max(least_fading_ms, animation_ms));
        fade_out_.start();
    }
    end_.start(shown_ms);
    Q_EMIT changed();
}

float RangeFlash::opacity() const
{
    return fade_out_.state() == QVariantAnimation::Running ? fade_out_.currentValue().toFloat() : 1.0F;
}

} // namespace palimpsest::ui
