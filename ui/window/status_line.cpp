#include "ui/window/status_line.h"

#include <QFontMetrics>
#include <QHBoxLayout>
#include <QLabel>
#include <QProgressBar>
#include <QToolButton>
#include <algorithm>
#include <cmath>

#include "ui/base/icon.h"
#include "ui/base/quantity.h"

namespace palimpsest::ui {
namespace {

QString name_of(const Frame& frame)
{
    const auto named = [&](const QString& with, const QString& without) {
        return frame.what.isEmpty() ? without : with.arg(frame.what);
    };
    switch (frame.activity) {
    case Activity::Idle:
        return {};
    case Activity::LoadingModel:
        return named(StatusLine::tr("Loading model %1"), StatusLine::tr("Loading the model"));
    case Activity::Opening:
        return named(StatusLine::tr("Opening %1"), StatusLine::tr("Opening"));
    case Activity::Reading:
        return StatusLine::tr("Reading");
    case Activity::WritingNotes:
        return StatusLine::tr("Writing notes");
    case Activity::Answering:
        return StatusLine::tr("Answering");
    case Activity::Saving:
        return StatusLine::tr("Saving");
    case Activity::Indexing:
        return StatusLine::tr("Indexing documents");
    case Activity::Storing:
        return StatusLine::tr("Adding to the library");
    }
    return {};
}

// Rounds down, so that 100 % appears only at the end.
int percent(double share)
{
    return std::clamp(static_cast<int>(std::floor(share * 100)), 0, 100);
}

} // namespace

QString activity_text(const Frame& frame)
{
    QString first = name_of(frame);
    if (first.isEmpty()) return {};
    if (frame.share) first = StatusLine::tr("%1 %2 %").arg(first, QString::number(percent(*frame.share)));
    QStringList parts{first};
    const uint64_t seen = frame.telemetry.tokens_seen;
    if (frame.activity == Activity::Reading && frame.tokens_total > 0)
        parts.append(StatusLine::tr("%1 / %2 tokens").arg(count_text(seen), count_text(frame.tokens_total)));
    if (frame.notes_wanted > 0)
        parts.append(StatusLine::tr("%1 of %2").arg(count_text(frame.notes), count_text(frame.notes_wanted)));
    if (frame.tokens_per_second > 0) parts.append(speed_text(frame.tokens_per_second));
    if (frame.seconds_left) parts.append(StatusLine::tr("%1 left").arg(duration_text(*frame.seconds_left)));
    if (frame.waiting > 0) parts.append(StatusLine::tr("%n waiting", nullptr, frame.waiting));
    return parts.join(QStringLiteral(" · "));
}

QString cache_text(const engine::Telemetry& telemetry)
{
    if (telemetry.cache_bytes == 0) return {};
    return StatusLine::tr("cache %1 of %2 full")
        .arg(bytes_text(telemetry.cache_bytes), bytes_text(telemetry.full_cache_bytes));
}

QString idle_text(const SessionFacts* facts)
{
    if (!facts) return StatusLine::tr("Ready");
    const QString read = StatusLine::tr("%1 of %2 tokens read")
                             .arg(count_text(facts->tokens_read), count_text(facts->tokens_in_input));
    const QString policy = facts->policy.section(u':', 0, 0); // parameters are shown in the policy area
    return StatusLine::tr("%1 · %2").arg(read, policy);
}

StatusLine::StatusLine(QWidget* parent)
    : QWidget(parent), activity_(new QLabel(this)), cache_(new QLabel(this)), bar_(new QProgressBar(this)),
      cancel_(new QToolButton(this))
{
    setAccessibleName(tr("Progress"));
    for (QLabel* label : {activity_, cache_}) {
        label->setTextFormat(Qt::PlainText);
        label->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    }
    cache_->setSizePolicy(QSizePolicy::Minimum, QSizePolicy::Preferred);
    cache_->setToolTip(tr("What the cache has allocated, beside what a cache that keeps every token would take"));
    bar_->setAccessibleName(tr("Share done"));
    bar_->setTextVisible(false);
    bar_->setFixedWidth(fontMetrics().averageCharWidth() * 16);
    bar_->setMaximumHeight(fontMetrics().height() * 2 / 3);
    cancel_->setText(tr("Cancel"));
    cancel_->setIcon(icon("stop"));
    cancel_->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    cancel_->setToolTip(tr("Stop what runs now (Esc); what was read so far is kept"));
    cancel_->setAccessibleName(tr("Cancel what runs"));
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(fontMetrics().averageCharWidth(), 0, fontMetrics().averageCharWidth(), 0);
    row->addWidget(activity_, 1);
    row->addWidget(bar_);
    row->addWidget(cache_);
    row->addWidget(cancel_);
    connect(cancel_, &QToolButton::clicked, this, &StatusLine::cancel_wanted);
    set_frame({});
}

void StatusLine::set_frame(const Frame& frame)
{
    is_idle_ = frame.activity == Activity::Idle;
    activity_->setText(is_idle_ ? idle_text_ : activity_text(frame));
    activity_->setToolTip(frame.what);
    cache_->setText(cache_text(frame.telemetry));
    bar_->setVisible(!is_idle_ && frame.share.has_value());
    if (frame.share) bar_->setValue(percent(*frame.share));
    // Disables the button instead of hiding it, so that its neighbours do not move.
    cancel_->setEnabled(!is_idle_);
}

void StatusLine::set_session(const SessionFacts* facts)
{
    idle_text_ = idle_text(facts);
    if (is_idle_) activity_->setText(idle_text_);
}

} // namespace palimpsest::ui
