#include "ui/engine/frame_publisher.h"

#include <algorithm>
#include <utility>

namespace palimpsest::ui {
namespace {

using namespace std::chrono_literals;

constexpr auto frame_interval = 33ms; // views draw at most 30 frames a second
// Copying the retained-token map takes at most 1/copy_share of the time.
constexpr int copy_share = 100;

} // namespace

FramePublisher::FramePublisher(const CommandQueue& queue, std::function<void()> notify)
    : queue_(queue), exchange_(std::move(notify))
{
}

void FramePublisher::begin_activity(Activity activity, const QString& what)
{
    frame_.activity = activity;
    frame_.what = what;
    clear_progress();
    frame_.tokens_total = 0;
    frame_.tokens_per_second = 0;
    publish_frame();
}

void FramePublisher::begin_reading(const QString& what)
{
    frame_.activity = Activity::Reading;
    frame_.what = what;
    clear_progress(); // left over from loading a model
}

void FramePublisher::begin_answer()
{
    frame_.activity = Activity::Answering;
    frame_.answer.clear();
}

void FramePublisher::end_activity()
{
    frame_.activity = Activity::Idle;
    frame_.what.clear();
    frame_.answer.clear();
    clear_progress();
}

void FramePublisher::clear_progress()
{
    frame_.share = frame_.seconds_left = std::nullopt;
    frame_.notes = frame_.notes_wanted = 0;
}

void FramePublisher::set_notes(uint64_t notes, uint64_t wanted)
{
    frame_.notes = notes;
    frame_.notes_wanted = wanted;
    if (wanted > 0) frame_.share = static_cast<double>(notes) / static_cast<double>(wanted);
}

void FramePublisher::set_progress(const storage::ReadingProgress& reading)
{
    frame_.what = QString::fromStdString(reading.what);
    frame_.share = reading.share;
    frame_.seconds_left = reading.seconds_left;
    frame_.tokens_per_second = reading.tokens_per_second;
    frame_.tokens_total = reading.tokens_total;
}

void FramePublisher::update_retention(const engine::Session& session)
{
    frame_.telemetry = session.telemetry();
    copy_retention(session);
}

void FramePublisher::update_retention_if_due(const engine::Session& session)
{
    frame_.telemetry = session.telemetry();
    const auto interval = std::max<Clock::duration>(frame_interval, copy_share * copy_duration_);
    if (Clock::now() - copied_ >= interval) copy_retention(session);
}

void FramePublisher::copy_retention(const engine::Session& session)
{
    const auto begin = Clock::now();
    frame_.kept = std::make_shared<const engine::RetentionMap>(session.retention());
    copied_ = Clock::now();
    copy_duration_ = copied_ - begin;
}

void FramePublisher::clear_retention()
{
    frame_.kept.reset();
    frame_.telemetry = {};
}

bool FramePublisher::is_due() const
{
    return Clock::now() - published_ >= frame_interval;
}

void FramePublisher::publish_frame()
{
    published_ = Clock::now();
    frame_.waiting = queue_.waiting();
    exchange_.put(frame_);
}

void FramePublisher::publish_frame_if_due()
{
    if (is_due()) publish_frame();
}

} // namespace palimpsest::ui
