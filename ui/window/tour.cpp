#include "ui/window/tour.h"

#include <QAccessible>
#include <QApplication>
#include <QKeyEvent>
#include <QLabel>
#include <QPainter>
#include <QPainterPath>
#include <QPushButton>
#include <QVBoxLayout>
#include <algorithm>

#include "ui/base/theme.h"

namespace palimpsest::ui {

// An outline around an area of the window; the mouse works through it.
class Tour::Outline final : public QWidget {
public:
    explicit Outline(QWidget* window) : QWidget(window)
    {
        setAttribute(Qt::WA_TransparentForMouseEvents);
        setFocusPolicy(Qt::NoFocus);
    }

protected:
    void paintEvent(QPaintEvent*) override
    {
        QPainter painter(this);
        painter.setRenderHint(QPainter::Antialiasing);
        const double width = std::max(2.0, fontMetrics().height() / 6.0);
        painter.setPen(QPen(accent(palette()), width));
        painter.drawRoundedRect(QRectF(rect()).adjusted(width / 2, width / 2, -width / 2, -width / 2), width * 2,
                                width * 2);
    }
};

Tour::Tour(QWidget* window, std::vector<TourStep> steps)
    : QFrame(window), window_(window), steps_(std::move(steps)), outline_(new Outline(window)),
      count_(new QLabel(this)), title_(new QLabel(this)), text_(new QLabel(this)), offer_(new QPushButton(this)),
      back_(new QPushButton(tr("&Back"), this)), next_(new QPushButton(this)),
      leave_(new QPushButton(tr("&Leave the tour"), this))
{
    setAccessibleName(tr("Tour"));
    setFocusPolicy(Qt::StrongFocus);
    QFont large = font();
    large.setPointSizeF(large.pointSizeF() * 1.2);
    large.setBold(true);
    title_->setFont(large);
    for (QLabel* label : {title_, text_, count_}) {
        label->setTextFormat(Qt::PlainText);
        label->setWordWrap(true);
    }
    leave_->setFlat(true);
    title_->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Preferred);
    count_->setWordWrap(false);
    auto* head = new QHBoxLayout;
    head->addWidget(title_, 1);
    head->addWidget(count_);
    auto* buttons = new QHBoxLayout;
    buttons->addWidget(leave_);
    buttons->addStretch();
    buttons->addWidget(back_);
    buttons->addWidget(next_);
    auto* column = new QVBoxLayout(this);
    const int margin = fontMetrics().height();
    column->setContentsMargins(margin, margin, margin, margin);
    column->setSpacing(margin / 2);
    column->addLayout(head);
    column->addWidget(text_);
    column->addWidget(offer_, 0, Qt::AlignLeading);
    column->addLayout(buttons);
    for (QPushButton* button : {offer_, back_, next_, leave_})
        button->installEventFilter(this); // buttons would otherwise consume the arrow keys
    connect(back_, &QPushButton::clicked, this, &Tour::back);
    connect(next_, &QPushButton::clicked, this, &Tour::next);
    connect(leave_, &QPushButton::clicked, this, &Tour::leave);
    connect(offer_, &QPushButton::clicked, this, &Tour::take_offer);
    hide();
    outline_->hide();
}

Tour::~Tour() = default;

void Tour::begin()
{
    if (steps_.empty()) return;
    if (step_ < 0) {
        focus_before_ = QApplication::focusWidget();
        window_->installEventFilter(this);
    }
    done_.clear();
    show_step(0);
}

void Tour::next()
{
    step_ + 1 < steps() ? show_step(step_ + 1) : leave();
}

void Tour::back()
{
    if (step_ > 0) show_step(step_ - 1);
}

void Tour::complete(TourTask task)
{
    if (step_ < 0 || task == TourTask::None) return;
    done_.push_back(task);
    const auto task_of = [this](int step) { return steps_[static_cast<size_t>(step)].task; };
    if (task_of(step_) != task) return;
    int next = step_ + 1;
    while (next < steps() && std::ranges::find(done_, task_of(next)) != done_.end())
        ++next;
    next < steps() ? go_on_to(next) : leave();
}

void Tour::show_step(int step)
{
    if (const auto& show_area = steps_[static_cast<size_t>(step)].area.show) show_area();
    step_ = step;
    write_step();
    focus_step();
}

void Tour::go_on_to(int step)
{
    const bool had_focus = has_focus();
    step_ = step;
    write_step();
    if (had_focus) focus_step();
}

void Tour::write_step()
{
    const TourStep& now = steps_[static_cast<size_t>(step_)];
    count_->setText(tr("Step %1 of %2").arg(step_ + 1).arg(steps()));
    title_->setText(now.title);
    text_->setText(now.text);
    back_->setEnabled(step_ > 0);
    next_->setText(step_ + 1 < steps() ? tr("&Next") : tr("&Done"));
    setAccessibleDescription(tr("%1: %2. %3").arg(count_->text(), now.title, now.text));
    show();
    refresh_area();
    for (const QWidget* part : {static_cast<QWidget*>(this), parentWidget()})
        part->layout()->activate(); // adapts the height to the new text at once
    QAccessibleEvent alert(this, QAccessible::Alert);
    QAccessible::updateAccessibility(&alert);
}

void Tour::focus_step()
{
    (offer_->isHidden() ? next_ : offer_)->setFocus(Qt::OtherFocusReason);
}

void Tour::take_offer()
{
    if (step_ < 0) return;
    const TourStep now = steps_[static_cast<size_t>(step_)];
    if (now.area.show) now.area.show();
    if (now.do_offer) now.do_offer();
    refresh_area();
}

void Tour::refresh_area()
{
    if (step_ < 0) return;
    const TourStep& now = steps_[static_cast<size_t>(step_)];
    QWidget* seen = now.area.find ? now.area.find() : nullptr;
    if (area_ != seen) {
        if (area_) area_->removeEventFilter(this);
        area_ = seen;
        if (area_) area_->installEventFilter(this);
    }
    const bool had_focus = has_focus();
    offer_->setText(now.offer.isEmpty() ? tr("&Show it") : now.offer);
    offer_->setVisible(!now.offer.isEmpty() || (now.area.show && !seen));
    if (had_focus && offer_->isHidden() && !has_focus()) focus_step();
    outline_->setVisible(seen);
    if (!seen) return;
    outline_->setGeometry(QRect(seen->mapTo(window_, QPoint()), seen->size()));
    outline_->raise();
}

void Tour::leave()
{
    if (step_ < 0) return;
    const bool had_focus = has_focus();
    step_ = -1;
    window_->removeEventFilter(this);
    if (area_) area_->removeEventFilter(this);
    area_.clear();
    hide();
    outline_->hide();
    if (had_focus && focus_before_) focus_before_->setFocus(Qt::OtherFocusReason);
}

bool Tour::has_focus() const
{
    const QWidget* focus = QApplication::focusWidget();
    return focus && (focus == this || isAncestorOf(focus));
}

QRect Tour::outlined() const
{
    return outline_ && !outline_->isHidden() ? outline_->geometry() : QRect();
}

bool Tour::event(QEvent* event)
{
    // While the tour has the focus, Escape ends it instead of triggering an action of the window.
    if (event->type() == QEvent::ShortcutOverride && static_cast<QKeyEvent*>(event)->key() == Qt::Key_Escape)
        event->accept();
    return QFrame::event(event);
}

void Tour::keyPressEvent(QKeyEvent* event)
{
    if (handle_key(event->key())) return;
    if (event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter) return next();
    QFrame::keyPressEvent(event);
}

bool Tour::handle_key(int key)
{
    const bool leftwards = layoutDirection() == Qt::RightToLeft;
    if (key == Qt::Key_Escape)
        leave();
    else if (key == (leftwards ? Qt::Key_Left : Qt::Key_Right))
        next();
    else if (key == (leftwards ? Qt::Key_Right : Qt::Key_Left))
        back();
    else
        return false;
    return true;
}

bool Tour::eventFilter(QObject* watched, QEvent* event)
{
    const auto type = event->type();
    const bool is_place = type == QEvent::Resize || type == QEvent::Move || type == QEvent::LayoutRequest;
    if ((watched == window_ || watched == area_) && is_place)
        QMetaObject::invokeMethod(this, &Tour::refresh_area,
                                  Qt::QueuedConnection); // queued, so that the layout is complete by then
    if (watched != window_ && watched != area_ && type == QEvent::KeyPress) {
        const auto* key = static_cast<QKeyEvent*>(event);
        auto* button = qobject_cast<QPushButton*>(watched);
        if (button && (key->key() == Qt::Key_Return || key->key() == Qt::Key_Enter)) {
            button->click();
            return true;
        }
        return handle_key(key->key());
    }
    return QFrame::eventFilter(watched, event);
}

void Tour::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    const double radius = fontMetrics().height() / 2.0;
    QPainterPath card;
    card.addRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), radius, radius);
    painter.fillPath(card, palette().window());
    painter.setPen(QPen(separator(palette()), 1.5));
    painter.drawPath(card);
}

} // namespace palimpsest::ui
