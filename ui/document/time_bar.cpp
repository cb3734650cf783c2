#include "ui/document/time_bar.h"

#include "ui/base/quantity.h"

#include <QEvent>
#include <QHBoxLayout>
#include <QIcon>
#include <QLabel>
#include <QPainter>
#include <QSlider>
#include <QToolButton>
#include <algorithm>

namespace palimpsest::ui {
namespace {

constexpr int played_milliseconds = 12000; // duration of a replay from the start to the newest state
constexpr int least_interval = 40;

} // namespace

TimeBar::TimeBar(QWidget* parent)
    : QWidget(parent), play_(new QToolButton(this)), now_(new QToolButton(this)),
      slider_(new QSlider(Qt::Horizontal, this)), label_(new QLabel(this))
{
    auto* row = new QHBoxLayout(this);
    const int gap = fontMetrics().height() / 3;
    row->setContentsMargins(2 * gap, gap, 2 * gap, gap);
    row->setSpacing(2 * gap);
    row->addWidget(play_);
    row->addWidget(slider_, 1);
    row->addWidget(now_);
    row->addWidget(label_);
    play_->setAutoRaise(true);
    play_->setFocusPolicy(Qt::TabFocus);
    now_->setText(tr("Now"));
    now_->setAutoRaise(true);
    now_->setFocusPolicy(Qt::TabFocus);
    now_->setAccessibleName(tr("Back to now"));
    now_->setToolTip(tr("What is held now, heads counted exactly"));
    slider_->setAccessibleName(tr("Time, in tokens read"));
    slider_->setToolTip(tr("Replay how the memory of the text faded"));
    label_->setAccessibleName(tr("Time shown"));
    connect(play_, &QToolButton::clicked, this, [this] { play(!is_playing()); });
    connect(now_, &QToolButton::clicked, this, [this] { set_step(slider_->maximum()); });
    connect(slider_, &QSlider::valueChanged, this, [this] {
        say();
        Q_EMIT time_changed();
    });
    connect(slider_, &QSlider::sliderPressed, this, [this] { play(false); });
    connect(&playing_, &QTimer::timeout, this, &TimeBar::advance);
    set_index(nullptr);
}

void TimeBar::set_index(std::shared_ptr<const FadeIndex> index)
{
    const bool was_now = is_now();
    const uint64_t read = tokens_read();
    index_ = std::move(index);
    if (!index_) play(false);
    const int steps = index_ ? index_->steps() : 0;
    {
        const QSignalBlocker quiet(slider_);
        slider_->setRange(0, steps);
        slider_->setPageStep(std::max(1, steps / 10));
        slider_->setValue(was_now || !index_ ? steps : index_->step_at(read));
    }
    setEnabled(index_ && steps > 0);
    say();
    Q_EMIT time_changed();
}

void TimeBar::set_failed(const QString& sentence)
{
    set_index(nullptr);
    label_->setText(sentence);
    label_->setToolTip(sentence);
}

int TimeBar::step() const
{
    return slider_->value();
}

bool TimeBar::is_now() const
{
    return !index_ || slider_->value() == slider_->maximum();
}

uint64_t TimeBar::tokens_read() const
{
    return index_ ? index_->tokens_read(slider_->value()) : 0;
}

void TimeBar::set_step(int step)
{
    slider_->setValue(step);
}

void TimeBar::play(bool on)
{
    if (on && index_) {
        if (is_now()) slider_->setValue(0);
        playing_.start(std::max(least_interval, played_milliseconds / std::max(1, slider_->maximum())));
    } else {
        playing_.stop();
    }
    say();
}

void TimeBar::advance()
{
    slider_->setValue(slider_->value() + 1);
    if (is_now()) play(false);
}

// Draws the play or pause icon in the colour of button text, because the style's icons stay black in dark themes.
QIcon TimeBar::play_icon() const
{
    const int side = fontMetrics().height();
    QPixmap picture(QSize(side, side) * devicePixelRatioF());
    picture.setDevicePixelRatio(devicePixelRatioF());
    picture.fill(Qt::transparent);
    QPainter painter(&picture);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(Qt::NoPen);
    painter.setBrush(palette().color(QPalette::ButtonText));
    const qreal a = side * 0.2, b = side * 0.8;
    if (is_playing()) {
        painter.drawRect(QRectF(a, a, side * 0.2, b - a));
        painter.drawRect(QRectF(b - side * 0.2, a, side * 0.2, b - a));
    } else {
        painter.drawPolygon(QPolygonF{{a, a}, {b, side / 2.0}, {a, b}});
    }
    painter.end();
    return QIcon(picture);
}

void TimeBar::changeEvent(QEvent* event)
{
    QWidget::changeEvent(event);
    if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange) play_->setIcon(play_icon());
}

void TimeBar::say()
{
    const bool playing = is_playing();
    play_->setIcon(play_icon());
    play_->setAccessibleName(playing ? tr("Pause the replay") : tr("Play how the memory faded"));
    play_->setToolTip(play_->accessibleName());
    if (!index_) return label_->setText(tr("no record of fading"));
    const QString tokens = count_text(tokens_read());
    const QString all = count_text(index_->tokens());
    label_->setText(is_now() ? tr("now: %1 tokens read").arg(all) : tr("%1 of %2 tokens read").arg(tokens, all));
    QStringList coarse;
    if (index_->tokens_per_cell() > 1)
        coarse += tr("One token in %1 stands for its neighbours.").arg(count_text(index_->tokens_per_cell()));
    if (index_->chunks_per_step() > 1)
        coarse += tr("Time goes in steps of %1 chunks.").arg(count_text(index_->chunks_per_step()));
    label_->setToolTip(coarse.join(u' '));
    if (!coarse.isEmpty() && !is_now()) label_->setText(label_->text() + tr(" (coarse)"));
    label_->setMinimumWidth(label_->fontMetrics().horizontalAdvance(tr("%1 of %2 tokens read").arg(all, all)));
    slider_->setAccessibleDescription(label_->text());
}

} // namespace palimpsest::ui
