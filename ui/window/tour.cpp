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

// A line around an area; what is below it can be used as if it were not there.
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
    auto* buttons = new QHBoxLayout;
    buttons->addWidget(leave_);
    buttons->addStretch();
    buttons->addWidget(back_);
    buttons->addWidget(next_);
    auto* column = new QVBoxLayout(this);
    const int margin = fontMetrics().height();
    column->setContentsMargins(margin, margin, margin, margin);
    column->setSpacing(margin / 2);
    column->addWidget(count_);
    column->addWidget(title_);
    column->addWidget(text_);
    column->addWidget(offer_, 0, Qt::AlignLeading);
    column->addLayout(buttons);
    for (QPushButton* button : {offer_, back_, next_, leave_})
        button->installEventFilter(this); // which would take the arrow keys for themselves
    connect(back_, &QPushButton::clicked, this, &Tour::back);
    connect(next_, &QPushButton::clicked, this, &Tour::next);
    connect(leave_, &QPushButton::clicked, this, &Tour::leave);
    connect(offer_, &QPushButton::clicked, this, [this] {
        if (step_ >= 0) steps_[static_cast<size_t>(step_)].do_offer();
    });
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
    show_step(0);
}

void Tour::next()
{
    step_ + 1 < steps() ? show_step(step_ + 1) : end(true);
}

void Tour::back()
{
    if (step_ > 0) show_step(step_ - 1);
}

void Tour::leave()
{
    end(false);
}

void Tour::show_step(int step)
{
    step_ = step;
    const TourStep& now = steps_[static_cast<size_t>(step)];
    area_ = now.area ? now.area() : nullptr;
    count_->setText(tr("Step %1 of %2").arg(step + 1).arg(steps()));
    title_->setText(now.title);
    text_->setText(now.text);
    offer_->setText(now.offer);
    offer_->setVisible(!now.offer.isEmpty());
    back_->setEnabled(step > 0);
    next_->setText(step + 1 < steps() ? tr("&Next") : tr("&Done"));
    setAccessibleDescription(tr("%1: %2. %3").arg(count_->text(), now.title, now.text));
    place();
    show();
    raise();
    (now.offer.isEmpty() ? next_ : offer_)->setFocus(Qt::OtherFocusReason);
    QAccessibleEvent alert(this, QAccessible::Alert);
    QAccessible::updateAccessibility(&alert);
    Q_EMIT step_changed(step);
}

void Tour::end(bool complete)
{
    if (step_ < 0) return;
    step_ = -1;
    window_->removeEventFilter(this);
    hide();
    outline_->hide();
    if (focus_before_) focus_before_->setFocus(Qt::OtherFocusReason);
    Q_EMIT ended(complete);
}

// Beside the area if there is room, else within it, at its foot.
void Tour::place()
{
    if (step_ < 0) return;
    const int gap = fontMetrics().height();
    const int wanted = std::max(fontMetrics().averageCharWidth() * 48, layout()->minimumSize().width());
    setFixedWidth(std::min(window_->width() - 2 * gap, wanted));
    layout()->activate();
    const QSize size(width(),
                     layout()->hasHeightForWidth() ? layout()->totalHeightForWidth(width()) : sizeHint().height());
    resize(size);
    const QRect inside = window_->rect().adjusted(gap, gap, -gap, -gap);
    const bool has_area = area_ && area_->isVisible();
    const QRect area = has_area ? QRect(area_->mapTo(window_, QPoint()), area_->size()) : inside;
    const int foot = area.bottom() - height() - gap;
    const int beside = area.height() > 2 * height() ? foot - 3 * gap : area.top() + gap; // where least is covered
    QPoint at(area.center().x() - width() / 2, foot);
    if (inside.right() - area.right() > width() + gap)
        at = {area.right() + gap, beside};
    else if (area.left() - inside.left() > width() + gap)
        at = {area.left() - width() - gap, beside};
    else if (area.top() - inside.top() > height() + gap)
        at.setY(area.top() - height() - gap);
    at.setX(std::clamp(at.x(), inside.left(), std::max(inside.left(), inside.right() - width())));
    at.setY(std::clamp(at.y(), inside.top(), std::max(inside.top(), inside.bottom() - height())));
    move(at);
    outline_->setVisible(has_area);
    outline_->setGeometry(area);
    outline_->raise();
    raise();
}

bool Tour::event(QEvent* event)
{
    // Its keys are its own while it has the focus, before those of the window's actions.
    if (event->type() == QEvent::ShortcutOverride && static_cast<QKeyEvent*>(event)->key() == Qt::Key_Escape)
        event->accept();
    return QFrame::event(event);
}

void Tour::keyPressEvent(QKeyEvent* event)
{
    if (obey(event->key())) return;
    if (event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter) return next();
    QFrame::keyPressEvent(event);
}

bool Tour::obey(int key)
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
    if (watched == window_ && (type == QEvent::Resize || type == QEvent::LayoutRequest))
        QMetaObject::invokeMethod(this, &Tour::place, Qt::QueuedConnection); // once the areas have their places
    if (watched != window_ && type == QEvent::KeyPress) {
        const auto* key = static_cast<QKeyEvent*>(event);
        auto* button = qobject_cast<QPushButton*>(watched);
        if (button && (key->key() == Qt::Key_Return || key->key() == Qt::Key_Enter)) {
            button->click();
            return true;
        }
        return obey(key->key());
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
